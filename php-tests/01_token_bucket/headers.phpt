--TEST--
Decision::headers(): RateLimit fields, Retry-After, policy names, minutes and older fields
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
echo "-- Decision::headers() returns RateLimit fields, and Retry-After on a denial --\n";
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- full, half, empty --\n";
print_values($bucket->peek()->headers());
print_values($bucket->attempt(5)->headers());
print_values($bucket->attempt(5)->headers());
echo "-- denied --\n";
print_values($bucket->attempt()->headers());
print_values($bucket->attempt(7)->headers());
$storage->advance(3.4);
print_values($bucket->attempt(7)->headers());
echo "-- more than the capacity: no Retry-After --\n";
print_values(array_keys($bucket->attempt(11)->headers()));
echo "-- slow and fast --\n";
$slow = new TokenBucket($storage, 'slow', 3, 0.05);
print_values($slow->attempt(3)->headers());
print_values($slow->attempt()->headers());
$fast = new TokenBucket($storage, 'fast', 1000, 5000);
print_values($fast->attempt(1000)->headers());
print_values($fast->attempt(1)->headers());
// The window in the parameter w is never 0.
$fastest = new TokenBucket(new TokenBucketStorageSharedMemory, 'fastest', 1, 1e6);
print_values($fastest->peek()->headers()['RateLimit-Policy'], (new TokenBucket\Decision(true, 1, 2, 0, 1e-9))->headers()['RateLimit-Policy']);
echo "-- Retry-After is never before the end of t --\n";
mt_srand(5);
for ($i = 0; $i < 500; $i++) {
    $capacity = mt_rand(1, 100);
    $random = new TokenBucket($storage, "random $i", $capacity, mt_rand(1, 1000) / mt_rand(1, 1000));
    $random->attempt(mt_rand(0, $capacity));
    $decision = $random->attempt(mt_rand(0, $capacity));
    $headers = $decision->headers();
    check(preg_match('/^"default";r=(\d+);t=(\d+)$/D', $headers['RateLimit'], $m) === 1, $headers['RateLimit']);
    check((float) $m[1] === $decision->remaining, 'r is what is left');
    check($decision->allowed === !isset($headers['Retry-After']), 'Retry-After only on a denial');
    if (!$decision->allowed) {
        // Tolerates a microsecond, because a reply takes longer than that to reach the client.
        check($headers['Retry-After'] > $decision->retryAfter - 1e-6 && $headers['Retry-After'] >= $m[2], json_encode($headers));
        check($headers['Retry-After'] < max($decision->retryAfter, (int) $m[2]) + 1, json_encode($headers));
    }
}

echo "-- Decision::headers() accepts policy names and limits sizes to the field's syntax --\n";
$storage = new TokenBucketStorageMemory;
$decision = (new TokenBucket($storage, 'x', 10, 1))->attempt(4);
foreach (['api', 'per minute', 'say "hi"', 'back\\slash', '~!', "\x20", 'a;q=1,b'] as $policy) {
    $headers = $decision->headers($policy);
    echo $headers['RateLimit-Policy'], ' | ', $headers['RateLimit'], "\n";
}
echo $decision->headers(policy: 'named')['RateLimit'], "\n";
echo "-- not printable --\n";
foreach (["a\r\nSet-Cookie: x", "\0", "caf\u{e9}", "\x7f", "\x1f", "tab\t", "\xff"] as $policy) {
    echo thrown(fn() => $decision->headers($policy)), "\n";
}
echo thrown(fn() => $decision->headers([])), "\n";
echo "-- huge: an sf-integer has at most 15 digits --\n";
foreach ([[1e15, 1e15], [PHP_INT_MAX, 1e15], [1, 1e-9]] as [$capacity, $rate]) {
    $headers = (new TokenBucket($storage, "huge $capacity", $capacity, $rate))->peek()->headers('p', true);
    foreach ($headers as $name => $value) {
        check(is_string($value) && preg_match('/\d{16}/', $value) === 0, "$name: $value");
        check(preg_match('/^[\x20-\x7e]+$/D', $value) === 1, "$name: $value");
    }
}
echo "-- the fields show fractions as whole numbers --\n";
$headers = (new TokenBucket($storage, 'fraction', 2.5, 0.4))->peek()->headers();
echo $headers['RateLimit-Policy'], ' | ', $headers['RateLimit'], "\n";

echo "-- Decision::headers() shows n per minute, hour or day with w=60, w=3600 or w=86400 --\n";
$storage = new TokenBucketStorageMemory;
foreach ([TokenBucket::MINUTE, TokenBucket::HOUR, TokenBucket::DAY] as $span) {
    $wrong = 0;
    for ($n = 1; $n <= 200; $n++) {
        $bucket = new TokenBucket($storage, "$n/$span", $n, $n / $span);
        $fields = $bucket->attempt($n)->headers()['RateLimit-Policy'];
        $expected = sprintf('"default";q=%d;w=%d', $n, $span);
        if ($fields !== $expected) {
            $wrong++;
            $example = "$fields instead of $expected";
        }
    }
    echo $span, ': ', $wrong ? "$wrong of 200 are wrong, such as $example" : 'exact', "\n";
}
// At one token a minute, the next token is available after 60 seconds, not after 61.
$bucket = new TokenBucket($storage, 'one', 1, 1 / 60);
$bucket->consume();
echo implode(' | ', $bucket->attempt()->headers()), "\n";

echo "-- Decision::headers() returns the older X-RateLimit fields on request --\n";
$bucket = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 2);
$before = time();
$headers = $bucket->attempt(5)->headers(legacy: true);
$after = time();
echo implode(' ', array_keys($headers)), "\n";
print_values($headers['X-RateLimit-Limit'], $headers['X-RateLimit-Remaining']);
$reset = $headers['X-RateLimit-Reset'];
// Five tokens are refilled after 2.5 seconds.
print_values(is_string($reset), preg_match("/^\d+$/D", $reset) === 1);
print_values($reset >= $before + 2 && $reset <= $after + 4);

// Two seconds would be enough, but Retry-After is at least the three seconds of the RateLimit
// field.
$headers = $bucket->attempt(9)->headers('default', true);
echo implode(' ', array_keys($headers)), "\n";
print_values($headers['X-RateLimit-Remaining'], $headers['Retry-After']);
print_values(array_keys($bucket->peek()->headers()));
?>
--EXPECTF--
-- Decision::headers() returns RateLimit fields, and Retry-After on a denial --
-- full, half, empty --
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=10;t=10']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=5;t=5']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1']
-- denied --
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '1']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '7']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=3;t=3', 'Retry-After' => '4']
-- more than the capacity: no Retry-After --
['RateLimit-Policy', 'RateLimit']
-- slow and fast --
['RateLimit-Policy' => '"default";q=3;w=60', 'RateLimit' => '"default";r=0;t=20']
['RateLimit-Policy' => '"default";q=3;w=60', 'RateLimit' => '"default";r=0;t=20', 'Retry-After' => '20']
['RateLimit-Policy' => '"default";q=1000;w=1', 'RateLimit' => '"default";r=0;t=1']
['RateLimit-Policy' => '"default";q=1000;w=1', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '1']
'"default";q=1;w=1' '"default";q=2;w=1'
-- Retry-After is never before the end of t --
-- Decision::headers() accepts policy names and limits sizes to the field's syntax --
"api";q=10;w=10 | "api";r=6;t=6
"per minute";q=10;w=10 | "per minute";r=6;t=6
"say \"hi\"";q=10;w=10 | "say \"hi\"";r=6;t=6
"back\\slash";q=10;w=10 | "back\\slash";r=6;t=6
"~!";q=10;w=10 | "~!";r=6;t=6
" ";q=10;w=10 | " ";r=6;t=6
"a;q=1,b";q=10;w=10 | "a;q=1,b";r=6;t=6
"named";r=6;t=6
-- not printable --
ValueError: TokenBucket\Decision::headers(): Argument #1 ($policy) must %s (7 times)
TypeError: TokenBucket\Decision::headers(): Argument #1 ($policy) must be of type string, array given
-- huge: an sf-integer has at most 15 digits --
-- the fields show fractions as whole numbers --
"default";q=2;w=7 | "default";r=2;t=5
-- Decision::headers() shows n per minute, hour or day with w=60, w=3600 or w=86400 --
60: exact
3600: exact
86400: exact
"default";q=1;w=60 | "default";r=0;t=60 | 60
-- Decision::headers() returns the older X-RateLimit fields on request --
RateLimit-Policy RateLimit X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset
'10' '5'
true true
true
RateLimit-Policy RateLimit Retry-After X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset
'5' '3'
['RateLimit-Policy', 'RateLimit']

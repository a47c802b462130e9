--TEST--
Decision::headers() accepts policy names and limits sizes to the field's syntax
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
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
?>
--EXPECTF--
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

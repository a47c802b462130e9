--TEST--
Decision::headers() shows n per minute, hour or day with w=60, w=3600 or w=86400
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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
?>
--EXPECT--
60: exact
3600: exact
86400: exact
"default";q=1;w=60 | "default";r=0;t=60 | 60

--TEST--
At n tokens a second, minute, hour, day or week, n tokens are refilled in that period
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

echo "-- ten a minute --\n";
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 10 / TokenBucket::MINUTE);
for ($i = 0; $i < 10; $i++) {
    check($bucket->consume(), "call $i");
}
$denied = $bucket->attempt();
print_values($denied->retryAfter, $denied->resetAfter, $denied->headers()['Retry-After']);
$storage->advance(6);
print_values($bucket->consume(), $bucket->consume());

echo "-- n tokens are back after their period, and Retry-After is that period --\n";
foreach (['SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK'] as $name) {
    $unit = constant("TokenBucket::$name");
    foreach ([1, 7, 999, 99_999] as $n) {
        $bucket = new TokenBucket($storage, "$n a $name", $n, $n / $unit);
        $bucket->consume($n);
        $seconds = $bucket->attempt($n)->headers()['Retry-After'];
        $storage->advance($unit - 1e-3);
        check($seconds === (string) $unit && !$bucket->consume($n), "$n a $name: too early, $seconds");
        $storage->advance(1e-3);
        check($bucket->peek()->remaining === (float) $n && $bucket->consume($n), "$n a $name");
    }
}
?>
--EXPECT--
-- ten a minute --
6.0 60.0 '6'
true false
-- n tokens are back after their period, and Retry-After is that period --

--TEST--
Rounding the time per token up does not make wait() or retryAfter longer
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
// A token takes 1285.7 ns, which is rounded up. So the 77,777 tokens, which should take a tenth of
// a second, take 21 microseconds longer.
$bucket = new TokenBucket($storage, 'a tenth', 77_777, 777_770);
$bucket->consume(77_777);
print_values($bucket->wait(0.1, 77_777)->allowed);

echo "-- nothing else is forgiven --\n";
$bucket = new TokenBucket($storage, 'slow', 7, 7 / TokenBucket::DAY);
$bucket->consume(7);
print_values($bucket->wait(TokenBucket::DAY - 60, 7)->allowed);

echo "-- the fake clock --\n";
$storage = new TokenBucketStorageMemory;
foreach ([7, 10, 999, 99_999] as $n) {
    $bucket = new TokenBucket($storage, "$n", $n, $n / TokenBucket::MINUTE);
    $bucket->consume($n);
    print_values($bucket->wait(59.999, $n)->allowed, $bucket->wait(60, $n)->allowed);
}
?>
--EXPECT--
true
-- nothing else is forgiven --
false
-- the fake clock --
false true
false true
false true
false true

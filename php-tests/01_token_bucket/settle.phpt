--TEST--
settle() makes the tokens taken in all equal to the actual cost
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- an estimate that was too high --\n";
var_dump($bucket->consume(8));
show($bucket->settle(8, 3));
echo "-- too low --\n";
show($bucket->settle(3, 5.5));
echo "-- far too low: a debt, which a refund makes smaller --\n";
show($bucket->settle(5.5, 20));
show($bucket->settle(20, 12));
show($bucket->settle(12, 1));
show($bucket->settle(1, 12));
echo "-- right --\n";
show($bucket->settle(12, 12.0));
echo "-- fractions add up --\n";
$thirds = new TokenBucket($storage, 'thirds', 10, 3);
var_dump($thirds->consume(1 / 3));
$thirds->settle(1 / 3, 2 / 3);
$thirds->settle(2 / 3, 0);
var_dump($thirds->consume(10));
echo "-- invalid numbers change nothing --\n";
$bucket->reset();
echo thrown(fn() => $bucket->settle(-1, 5)), "\n";
echo thrown(fn() => $bucket->settle(1, INF)), "\n";
echo thrown(fn() => $bucket->settle(1, 1e12)), "\n";
var_dump($bucket->consume(10));
?>
--EXPECT--
-- an estimate that was too high --
bool(true)
allowed granted remaining=7.0 capacity=10.0 retryAfter=0.0 resetAfter=3.0
-- too low --
allowed granted remaining=4.0 capacity=10.0 retryAfter=0.0 resetAfter=5.5
-- far too low: a debt, which a refund makes smaller --
allowed granted remaining=-10.0 capacity=10.0 retryAfter=0.0 resetAfter=20.0
allowed granted remaining=-2.0 capacity=10.0 retryAfter=0.0 resetAfter=12.0
allowed granted remaining=9.0 capacity=10.0 retryAfter=0.0 resetAfter=1.0
allowed granted remaining=-2.0 capacity=10.0 retryAfter=0.0 resetAfter=12.0
-- right --
allowed granted remaining=-2.0 capacity=10.0 retryAfter=0.0 resetAfter=12.0
-- fractions add up --
bool(true)
bool(true)
-- invalid numbers change nothing --
ValueError: TokenBucket::settle(): Argument #1 ($reserved) must be greater than or equal to 0
ValueError: TokenBucket::settle(): Argument #2 ($actual) must be finite
ValueError: TokenBucket::settle(): Argument #2 ($actual) must refill within 2^60 nanoseconds at the bucket's rate
bool(true)

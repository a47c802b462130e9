--TEST--
charge() takes tokens even if the bucket lacks them, and calls are denied until the debt is repaid
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 2);
echo "-- tokens that are there --\n";
show($bucket->charge(4));
echo "-- more than the bucket holds: a debt --\n";
show($bucket->charge(8.5));
show($bucket->attempt(0));
show($bucket->attempt(1));
echo "-- more than the capacity --\n";
$bucket->reset();
show($bucket->charge(1000));
echo "-- nothing --\n";
show($bucket->charge(0));
echo "-- a debt that takes more than 36 years to repay --\n";
echo thrown(fn() => $bucket->charge(2_305_843_009)), "\n";
echo thrown(fn() => $bucket->charge(2_400_000_000)), "\n";
echo thrown(fn() => $bucket->charge(-1)), "\n";
echo thrown(fn() => $bucket->charge(NAN)), "\n";
show($bucket->peek(0));
?>
--EXPECT--
-- tokens that are there --
allowed granted remaining=6.0 capacity=10.0 retryAfter=0.0 resetAfter=2.0
-- more than the bucket holds: a debt --
allowed granted remaining=-3.0 capacity=10.0 retryAfter=0.0 resetAfter=6.25
denied insufficient_tokens remaining=-3.0 capacity=10.0 retryAfter=1.25 resetAfter=6.25
denied insufficient_tokens remaining=-3.0 capacity=10.0 retryAfter=1.75 resetAfter=6.25
-- more than the capacity --
allowed granted remaining=-990.0 capacity=10.0 retryAfter=0.0 resetAfter=500.0
-- nothing --
allowed granted remaining=-990.0 capacity=10.0 retryAfter=0.0 resetAfter=500.0
-- a debt that takes more than 36 years to repay --
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must not leave a debt that takes more than 2^60 nanoseconds to repay
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must refill within 2^60 nanoseconds at the bucket's rate
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must be finite
denied insufficient_tokens remaining=-990.0 capacity=10.0 retryAfter=495.0 resetAfter=500.0

--TEST--
wait() on TokenBucketStorageMemory advances its clock instead of sleeping
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 0.001);
$start = hrtime(true);
echo "-- tokens available: no time passes --\n";
show($bucket->wait(0.0, 10));
echo "-- timeout too short: denies at once, and no time passes --\n";
show($bucket->wait(999.999));
show($bucket->wait(0));
show($bucket->peek());
echo "-- timeout long enough: advances the clock and grants --\n";
show($bucket->wait(1000.0));
show($bucket->wait(1e9, 3));
show($bucket->peek());
echo "-- time also passes for other buckets of the storage --\n";
$other = new TokenBucket($storage, 'y', 10, 0.001);
$other->consume(10);
$bucket->wait(5000.0, 2);
show($other->peek());
echo "-- more than the capacity --\n";
show($bucket->wait(1e300, 11));
// On a real clock, the waits above would take more than a thousand seconds.
var_dump((hrtime(true) - $start) / 1e9 < 300);
?>
--EXPECTF--
-- tokens available: no time passes --
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
-- timeout too short: denies at once, and no time passes --
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
-- timeout long enough: advances the clock and grants --
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
-- time also passes for other buckets of the storage --
allowed granted remaining=2.0 capacity=10.0 retryAfter=0.0 resetAfter=8000.0
-- more than the capacity --
denied exceeds_capacity remaining=%f capacity=10.0 retryAfter=INF resetAfter=%f
bool(true)

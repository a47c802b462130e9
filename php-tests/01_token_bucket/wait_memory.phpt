--TEST--
wait() on TokenBucketStorageMemory advances its clock instead of sleeping
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 0.001);
$start = hrtime(true);
echo "-- there: no time passes --\n";
show($bucket->wait(0.0, 10));
echo "-- too long: at once, and no time passes --\n";
show($bucket->wait(999.999));
show($bucket->wait(0));
show($bucket->peek());
echo "-- long enough: granted, on the store's clock --\n";
show($bucket->wait(1000.0));
show($bucket->wait(1e9, 3));
show($bucket->peek());
echo "-- another bucket of the same storage has seen the time pass --\n";
$other = new TokenBucket($storage, 'y', 10, 0.001);
$other->consume(10);
$bucket->wait(5000.0, 2);
show($other->peek());
echo "-- never --\n";
show($bucket->wait(1e300, 11));
var_dump((hrtime(true) - $start) / 1e9 < (is_slow() ? 60 : 5));
?>
--EXPECTF--
-- there: no time passes --
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
-- too long: at once, and no time passes --
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
-- long enough: granted, on the store's clock --
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10000.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1000.0 resetAfter=10000.0
-- another bucket of the same storage has seen the time pass --
allowed granted remaining=2.0 capacity=10.0 retryAfter=0.0 resetAfter=8000.0
-- never --
denied exceeds_capacity remaining=%f capacity=10.0 retryAfter=INF resetAfter=%f
bool(true)

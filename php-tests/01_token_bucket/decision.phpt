--TEST--
attempt() and peek() return complete decisions
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- full --\n";
show($bucket->peek());
show($bucket->peek(10));
show($bucket->peek(0));
echo "-- taking --\n";
show($bucket->attempt(3));
show($bucket->peek());
show($bucket->attempt(8));
show($bucket->peek(7));
echo "-- half a token later --\n";
$storage->advance(0.5);
show($bucket->attempt(8));
show($bucket->attempt(0));
show($bucket->attempt(7.5));
show($bucket->attempt());
echo "-- more than the capacity --\n";
foreach ([10.5, 11, PHP_INT_MAX, 1e308] as $tokens) {
    $decision = $bucket->attempt($tokens);
    print_values($decision->allowed, $decision->reason, $decision->retryAfter, $decision == $bucket->peek($tokens));
}
echo "-- fractions --\n";
$bucket = new TokenBucket($storage, 'fraction', 2.5, 0.5);
show($bucket->peek(2.5));
show($bucket->attempt(2.5));
show($bucket->peek(0.5));
$storage->advance(3);
show($bucket->attempt(0.5));
echo "-- a capacity below one token --\n";
$bucket = new TokenBucket($storage, 'tiny', 0.5, 1);
show($bucket->peek(0.5));
show($bucket->attempt());
show($bucket->attempt(0.25));
?>
--EXPECTF--
-- full --
allowed granted remaining=10.0 capacity=10.0 retryAfter=0.0 resetAfter=0.0 (3 times)
-- taking --
allowed granted remaining=7.0 capacity=10.0 retryAfter=0.0 resetAfter=3.0 (2 times)
denied insufficient_tokens remaining=7.0 capacity=10.0 retryAfter=1.0 resetAfter=3.0
allowed granted remaining=7.0 capacity=10.0 retryAfter=0.0 resetAfter=3.0
-- half a token later --
denied insufficient_tokens remaining=7.0 capacity=10.0 retryAfter=0.5 resetAfter=2.5
allowed granted remaining=7.0 capacity=10.0 retryAfter=0.0 resetAfter=2.5
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=10.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=1.0 resetAfter=10.0
-- more than the capacity --
false 'exceeds_capacity' INF true (4 times)
-- fractions --
allowed granted remaining=2.0 capacity=2.5 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=0.0 capacity=2.5 retryAfter=0.0 resetAfter=5.0
denied insufficient_tokens remaining=0.0 capacity=2.5 retryAfter=1.0 resetAfter=5.0
allowed granted remaining=1.0 capacity=2.5 retryAfter=0.0 resetAfter=3.0
-- a capacity below one token --
allowed granted remaining=0.0 capacity=0.5 retryAfter=0.0 resetAfter=0.0
denied exceeds_capacity remaining=0.0 capacity=0.5 retryAfter=INF resetAfter=%f
allowed granted remaining=0.0 capacity=0.5 retryAfter=0.0 resetAfter=0.25

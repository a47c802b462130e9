--TEST--
reserve() takes the next tokens in order, and cancel() gives back those that no later call relies on
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 2, 1);
$delays = fn (...$reservations) => implode(' ', array_map(fn ($it) => $it->delay, $reservations)) . "\n";
echo "-- tokens that are there are reserved without a delay --\n";
echo $delays($bucket->reserve(), $bucket->reserve(), $first = $bucket->reserve());
show($first->decision);
echo "-- the next ones follow --\n";
echo $delays($second = $bucket->reserve(2), $third = $bucket->reserve());
echo "-- a wait that is too long takes nothing --\n";
$late = $bucket->reserve(1, 4.999);
echo $delays($late, $bucket->reserve(1, 4.999));
show($late->decision);
$late->cancel();
echo thrown($late->wait(...)), "\n";
var_dump($bucket->reserve(3)->decision->reason);
echo "-- three tokens were reserved after the first one, none after the third --\n";
$first->cancel();
show($bucket->peek(0));
$third->cancel();
show($bucket->peek(0));
echo $delays($bucket->reserve(1, 4));
echo "-- wait() ends when the tokens are there --\n";
$bucket->reset();
$bucket->consume(2);
$bucket->reserve(2)->wait();
show($bucket->peek(0));
$due = $bucket->reserve(1);
$storage->advance(30);
$due->wait();
echo "-- a cancellation after the bucket has refilled returns nothing --\n";
$due->cancel();
show($bucket->peek(2));
var_dump($bucket->consume(2), $bucket->consume(1));
echo "-- a cancelled reservation has no tokens to wait for --\n";
$bucket->reset();
$bucket->consume(2);
$cancelled = $bucket->reserve();
$cancelled->cancel();
echo thrown(fn() => $cancelled->wait()), "\n";
var_dump($bucket->peek(0)->remaining);
echo "-- invalid arguments --\n";
echo thrown(fn() => $bucket->reserve(-1)), "\n";
echo thrown(fn() => $bucket->reserve(1, -0.5)), "\n";
echo thrown(fn() => $bucket->reserve(1, NAN)), "\n";
echo thrown(fn() => new TokenBucket\Reservation), "\n";
echo thrown(fn() => clone $due), "\n";
echo thrown(fn() => serialize($due)), "\n";
echo thrown(fn() => $due->delay = 1), "\n";
?>
--EXPECT--
-- tokens that are there are reserved without a delay --
0 0 1
allowed granted remaining=-1.0 capacity=2.0 retryAfter=0.0 resetAfter=3.0
-- the next ones follow --
3 4
-- a wait that is too long takes nothing --
INF INF
denied insufficient_tokens remaining=-4.0 capacity=2.0 retryAfter=5.0 resetAfter=6.0
LogicException: The reservation was not granted
string(16) "exceeds_capacity"
-- three tokens were reserved after the first one, none after the third --
denied insufficient_tokens remaining=-4.0 capacity=2.0 retryAfter=4.0 resetAfter=6.0
denied insufficient_tokens remaining=-3.0 capacity=2.0 retryAfter=3.0 resetAfter=5.0
4
-- wait() ends when the tokens are there --
allowed granted remaining=0.0 capacity=2.0 retryAfter=0.0 resetAfter=2.0
-- a cancellation after the bucket has refilled returns nothing --
allowed granted remaining=2.0 capacity=2.0 retryAfter=0.0 resetAfter=0.0
bool(true)
bool(false)
-- a cancelled reservation has no tokens to wait for --
LogicException: The reservation was cancelled
float(0)
-- invalid arguments --
ValueError: TokenBucket::reserve(): Argument #1 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::reserve(): Argument #2 ($maxWait) must be greater than or equal to 0
ValueError: TokenBucket::reserve(): Argument #2 ($maxWait) must not be NAN
Error: Call to private TokenBucket\Reservation::__construct() from global scope
Error: Trying to clone an uncloneable object of class TokenBucket\Reservation
Exception: Serialization of 'TokenBucket\Reservation' is not allowed
Error: Cannot modify readonly property TokenBucket\Reservation::$delay

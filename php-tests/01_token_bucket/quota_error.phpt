--TEST--
TokenBucket\Quota refuses limits out of range, methods that wait, and storages written in PHP
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Period;
use TokenBucket\Quota;

fold_equal_lines();
/** A storage that is written in PHP. */
class OwnStorage implements TokenBucketStorage
{
    public function prepare() {}
    public function bootstrap($identifier, $microtime) {}
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
}

$storage = new TokenBucketStorageMemory;
echo "-- limits --\n";
foreach ([0, -1, PHP_INT_MIN, 60_000_001, PHP_INT_MAX] as $limit) {
    echo thrown(fn () => new Quota($storage, 'x', $limit, Period::Minute)), "\n";
}
echo thrown(fn () => new Quota($storage, 'x', 60_000_000, Period::Minute)), "\n";
echo "-- types --\n";
echo thrown(fn () => new Quota($storage, 'x', 'many', Period::Minute)), "\n";
echo thrown(fn () => new Quota($storage, 'x', 1, 'day')), "\n";
echo thrown(fn () => new Quota($storage, 'x', 1, Period::Day, 'monday')), "\n";
echo thrown(fn () => new Quota($storage, [], 1, Period::Day)), "\n";
echo thrown(fn () => new Quota(new stdClass, 'x', 1, Period::Day)), "\n";
echo thrown(fn () => new Quota($storage, 'x', 1)), "\n";
echo "-- a storage that is written in PHP --\n";
echo thrown(fn () => new Quota(new OwnStorage, 'x', 1, Period::Day)), "\n";
echo "-- methods that wait --\n";
$quota = new Quota($storage, 'x', 1, Period::Day);
echo thrown(fn () => $quota->reserve()), "\n";
echo thrown(fn () => $quota->wait(1)), "\n";
echo "-- floors --\n";
echo thrown(fn () => $quota->attempt(1, 1)), "\n";
echo thrown(fn () => $quota->peek(0, 0.5)), "\n";
echo thrown(fn () => TokenBucket::attemptAll([[$quota, 1, 1]])), "\n";
echo thrown(fn () => $quota->drain()), "\n";
print_values($quota->attempt(0, 0)->remaining);
echo "-- charges beyond the microseconds of the window --\n";
$minute = new Quota($storage, 'minute', 1, Period::Minute);
print_values($minute->charge(59_999_999)->remaining);
echo thrown(fn () => $minute->charge(2)), "\n";
print_values($minute->peek()->remaining);
echo "-- numbers --\n";
echo thrown(fn () => $quota->attempt(-1)), "\n";
echo thrown(fn () => $quota->charge(NAN)), "\n";
echo "-- two quotas on one identifier --\n";
$other = new Quota($storage, 'x', 2, Period::Day);
echo thrown(fn () => TokenBucket::attemptAll([$quota, $other])), "\n";
echo "-- no subclass, no serialization --\n";
print_values((new ReflectionClass(Quota::class))->isFinal());
echo thrown(fn () => serialize($quota)), "\n";
?>
--EXPECT--
-- limits --
ValueError: TokenBucket\Quota::__construct(): Argument #3 ($limit) must be between 1 and the microseconds of the period's shortest window (5 times)
nothing thrown
-- types --
TypeError: TokenBucket\Quota::__construct(): Argument #3 ($limit) must be of type int, string given
TypeError: TokenBucket\Quota::__construct(): Argument #4 ($period) must be of type TokenBucket\Period, string given
TypeError: TokenBucket\Quota::__construct(): Argument #5 ($anchor) must be of type DateTimeInterface, string given
TypeError: TokenBucket\Quota::__construct(): Argument #2 ($identifier) must be of type string, array given
TypeError: TokenBucket\Quota::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, stdClass given
ArgumentCountError: TokenBucket\Quota::__construct() expects at least 4 arguments, 3 given
-- a storage that is written in PHP --
LogicException: TokenBucket\Quota needs one of the extension's own storages
-- methods that wait --
LogicException: TokenBucket\Quota does not support reserve()
LogicException: TokenBucket\Quota does not support wait()
-- floors --
LogicException: TokenBucket\Quota does not support attempt() with a floor
LogicException: TokenBucket\Quota does not support peek() with a floor
LogicException: TokenBucket\Quota does not support attemptAll() with a floor
LogicException: TokenBucket\Quota does not support drain()
1.0
-- charges beyond the microseconds of the window --
-59999998.0
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must not charge a window more tokens than it has microseconds
-59999998.0
-- numbers --
ValueError: TokenBucket::attempt(): Argument #1 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::charge(): Argument #1 ($tokens) must be finite
-- two quotas on one identifier --
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) must not contain buckets that have one storage and one identifier, but different limits
-- no subclass, no serialization --
true
Exception: Serialization of 'TokenBucket\Quota' is not allowed

--TEST--
Methods throw an error that names the invalid argument, and take nothing
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
class Sub extends TokenBucket
{
    public function __call($name, $arguments)
    {
        return $this->{substr($name, 1)}(...$arguments);
    }
}
$bucket = new Sub(new TokenBucketStorageMemory, 'x', 10, 1);
$bucket->consume(4);
$invalid = function (string $method) use ($bucket) {
    $most = in_array($method, ['attempt', 'peek'], true) ? 2 : 1;
    foreach ([-1, -0.001, PHP_INT_MIN, NAN, INF, -INF, '-1', 'abc', '1abc', [], new stdClass] as $tokens) {
        echo thrown(fn() => $bucket->$method($tokens)), "\n";
    }
    echo thrown(fn() => $bucket->$method(...array_fill(0, $most + 1, 1))), "\n";
    echo thrown(fn() => $bucket->$method(count: 1)), "\n";
};
echo "-- consume --\n";
$invalid('consume');
echo "-- attempt, peek --\n";
alike(['attempt', 'peek'], $invalid);
echo "-- refund, drain --\n";
alike(['refund', 'drain'], $invalid);
echo "-- wait --\n";
foreach ([-1, -0.001, NAN, -INF, 'abc', []] as $timeout) {
    echo thrown(fn() => $bucket->wait($timeout)), "\n";
}
foreach ([-1, NAN, 'abc'] as $tokens) {
    echo thrown(fn() => $bucket->wait(0, $tokens)), "\n";
}
echo thrown(fn() => $bucket->wait()), "\n";
echo thrown(fn() => $bucket->wait(1, 2, 3)), "\n";
echo "-- reset --\n";
echo thrown(fn() => $bucket->reset(1)), "\n";
echo "-- protected --\n";
echo thrown(fn() => $bucket->__bootstrap(-1)), "\n";
echo thrown(fn() => $bucket->__bootstrap(NAN)), "\n";
echo thrown(fn() => $bucket->__bootstrap([])), "\n";
echo thrown(fn() => $bucket->__bootstrap()), "\n";
echo thrown(fn() => $bucket->__tokens_to_seconds('x')), "\n";
echo thrown(fn() => $bucket->__tokens_to_seconds()), "\n";
echo thrown(fn() => $bucket->__seconds_to_tokens([])), "\n";
echo "-- compare_microtimes --\n";
echo thrown(fn() => TokenBucket::compare_microtimes('x', 1)), "\n";
echo thrown(fn() => TokenBucket::compare_microtimes(1, [])), "\n";
echo thrown(fn() => TokenBucket::compare_microtimes(1)), "\n";
echo thrown(fn() => TokenBucket\status(1)), "\n";
echo "-- nothing was taken --\n";
show($bucket->peek());
?>
--EXPECT--
-- consume --
ValueError: TokenBucket::consume(): Argument #1 ($token_count) must be greater than or equal to 0 (3 times)
ValueError: TokenBucket::consume(): Argument #1 ($token_count) must be finite (3 times)
ValueError: TokenBucket::consume(): Argument #1 ($token_count) must be greater than or equal to 0
TypeError: TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, string given (2 times)
TypeError: TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, array given
TypeError: TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, stdClass given
ArgumentCountError: TokenBucket::consume() expects at most 1 argument, 2 given
Error: Unknown named parameter $count
-- attempt, peek --
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be greater than or equal to 0 (3 times)
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be finite (3 times)
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be greater than or equal to 0
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, string given (2 times)
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, array given
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, stdClass given
ArgumentCountError: TokenBucket::…() expects at most 2 arguments, 3 given
Error: Unknown named parameter $count
-- refund, drain --
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be greater than or equal to 0 (3 times)
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be finite (3 times)
ValueError: TokenBucket::…(): Argument #1 ($tokens) must be greater than or equal to 0
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, string given (2 times)
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, array given
TypeError: TokenBucket::…(): Argument #1 ($tokens) must be of type int|float, stdClass given
ArgumentCountError: TokenBucket::…() expects at most 1 argument, 2 given
Error: Unknown named parameter $count
-- wait --
ValueError: TokenBucket::wait(): Argument #1 ($timeout) must be greater than or equal to 0 (2 times)
ValueError: TokenBucket::wait(): Argument #1 ($timeout) must not be NAN
ValueError: TokenBucket::wait(): Argument #1 ($timeout) must be greater than or equal to 0
TypeError: TokenBucket::wait(): Argument #1 ($timeout) must be of type float, string given
TypeError: TokenBucket::wait(): Argument #1 ($timeout) must be of type float, array given
ValueError: TokenBucket::wait(): Argument #2 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::wait(): Argument #2 ($tokens) must be finite
TypeError: TokenBucket::wait(): Argument #2 ($tokens) must be of type int|float, string given
ArgumentCountError: TokenBucket::wait() expects at least 1 argument, 0 given
ArgumentCountError: TokenBucket::wait() expects at most 2 arguments, 3 given
-- reset --
ArgumentCountError: TokenBucket::reset() expects exactly 0 arguments, 1 given
-- protected --
nothing thrown
ValueError: TokenBucket::_bootstrap(): Argument #1 ($initialTokens) must be finite
TypeError: Unsupported operand types: array / int
ArgumentCountError: TokenBucket::_bootstrap() expects exactly 1 argument, 0 given
TypeError: Unsupported operand types: string / int
ArgumentCountError: TokenBucket::_tokens_to_seconds() expects exactly 1 argument, 0 given
TypeError: Unsupported operand types: array * int
-- compare_microtimes --
TypeError: TokenBucket::compare_microtimes(): Argument #1 ($m1) must be of type int|float, string given
TypeError: TokenBucket::compare_microtimes(): Argument #2 ($m2) must be of type int|float, array given
ArgumentCountError: TokenBucket::compare_microtimes() expects exactly 2 arguments, 1 given
ArgumentCountError: TokenBucket\status() expects exactly 0 arguments, 1 given
-- nothing was taken --
allowed granted remaining=6.0 capacity=10.0 retryAfter=0.0 resetAfter=4.0

--TEST--
TokenBucket::__construct() reports the argument that is invalid
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
$storage = new TokenBucketStorageMemory;
echo "-- capacity --\n";
foreach ([0, 0.0, -0.0, -1, -0.5, '0', false, NAN, INF, -INF] as $capacity) {
    echo thrown(fn() => new TokenBucket($storage, 'x', $capacity, 1)), "\n";
}
echo "-- rate --\n";
foreach ([0, 0.0, -1, '-2', NAN, INF, -INF, 1.1e15, 1e16, PHP_INT_MAX, 1e308] as $rate) {
    echo thrown(fn() => new TokenBucket($storage, 'x', 1, $rate)), "\n";
}
echo "-- together --\n";
foreach ([[1e10, 1], [PHP_INT_MAX, 1], [1e308, 1e15], [1, 1e-10], [1, 5e-324], [1152921505, 1]] as [$capacity, $rate]) {
    echo thrown(fn() => new TokenBucket($storage, 'x', $capacity, $rate)), "\n";
}
echo "-- both are invalid: the error names the capacity --\n";
echo thrown(fn() => new TokenBucket($storage, 'x', 0, 0)), "\n";
echo "-- the limits themselves are valid --\n";
foreach ([[1, 1e15], [PHP_INT_MAX, 1e15], [1152921504, 1], [1, 1e-9], [5e-324, 1], [0.001, 1e15]] as [$capacity, $rate]) {
    $bucket = new TokenBucket($storage, "$capacity/$rate", $capacity, $rate);
    var_dump($bucket->consume($capacity));
}
echo "-- types and counts --\n";
$calls = [
    fn() => new TokenBucket,
    fn() => new TokenBucket($storage, 'x', 1),
    fn() => new TokenBucket($storage, 'x', 1, 1, 1),
    fn() => new TokenBucket(null, 'x', 1, 1),
    fn() => new TokenBucket(new stdClass, 'x', 1, 1),
    fn() => new TokenBucket('TokenBucketStorageMemory', 'x', 1, 1),
    fn() => new TokenBucket($storage, [], 1, 1),
    fn() => new TokenBucket($storage, new stdClass, 1, 1),
    fn() => new TokenBucket($storage, STDIN, 1, 1),
    fn() => new TokenBucket($storage, 'x', 'ten', 1),
    fn() => new TokenBucket($storage, 'x', '10abc', 1),
    fn() => new TokenBucket($storage, 'x', [], 1),
    fn() => new TokenBucket($storage, 'x', 1, ''),
    fn() => new TokenBucket($storage, 'x', 1, new stdClass),
    fn() => new TokenBucket($storage, 'x', 1, rate: 1),
];
foreach ($calls as $call) {
    echo thrown($call), "\n";
}
?>
--EXPECTF--
-- capacity --
ValueError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be greater than %r(or equal to )?%r0 (7 times)
ValueError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be finite (3 times)
-- rate --
ValueError: TokenBucket::__construct(): Argument #4 ($tokens_per_second) must be greater than %r(or equal to )?%r0 (4 times)
ValueError: TokenBucket::__construct(): Argument #4 ($tokens_per_second) must be finite (3 times)
ValueError: TokenBucket::__construct(): Argument #4 ($tokens_per_second) must be less than or equal to 1.0E+15 (4 times)
-- together --
ValueError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must refill within 2^60 nanoseconds at the given rate (6 times)
-- both are invalid: the error names the capacity --
ValueError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be greater than %r(or equal to )?%r0
-- the limits themselves are valid --
bool(true) (6 times)
-- types and counts --
ArgumentCountError: TokenBucket::__construct() expects exactly 4 arguments, 0 given
ArgumentCountError: TokenBucket::__construct() expects exactly 4 arguments, 3 given
ArgumentCountError: TokenBucket::__construct() expects exactly 4 arguments, 5 given
TypeError: TokenBucket::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, null given
TypeError: TokenBucket::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, stdClass given
TypeError: TokenBucket::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, string given
TypeError: TokenBucket::__construct(): Argument #2 ($identifier) must be of type string, array given
TypeError: TokenBucket::__construct(): Argument #2 ($identifier) must be of type string, stdClass given
TypeError: TokenBucket::__construct(): Argument #2 ($identifier) must be of type string, resource given
TypeError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, string given (2 times)
TypeError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, array given
TypeError: TokenBucket::__construct(): Argument #4 ($tokens_per_second) must be of type int|float, string given
TypeError: TokenBucket::__construct(): Argument #4 ($tokens_per_second) must be of type int|float, stdClass given
Error: Unknown named parameter $rate

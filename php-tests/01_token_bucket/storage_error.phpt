--TEST--
Native storages throw on invalid arguments
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
$yes = fn() => true;
alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) use ($yes) {
    $storage = new $class;
    $calls = [
        fn() => $storage->consume('x', -1, 10, $yes),
        fn() => $storage->consume('x', NAN, 10, $yes),
        fn() => $storage->consume('x', INF, 10, $yes),
        fn() => $storage->consume('x', 1, -10, $yes),
        fn() => $storage->consume('x', 1, NAN, $yes),
        fn() => $storage->consume('x', 1, INF, $yes),
        fn() => $storage->consume('x', 'soon', 10, $yes),
        fn() => $storage->consume('x', 1, [], $yes),
        fn() => $storage->consume([], 1, 10, $yes),
        fn() => $storage->consume('x', 1, 10, 'no such function'),
        fn() => $storage->consume('x', 1, 10, null),
        fn() => $storage->consume('x', 1, 10, true),
        fn() => $storage->consume('x', 1, 10, new stdClass),
        fn() => $storage->consume('x', 1, 10),
        fn() => $storage->bootstrap('x', NAN),
        fn() => $storage->bootstrap('x', INF),
        fn() => $storage->bootstrap('x', -INF),
        fn() => $storage->bootstrap('x', 'then'),
        fn() => $storage->bootstrap([], 1),
        fn() => $storage->bootstrap('x'),
        fn() => $storage->prepare(1),
    ];
    foreach ($calls as $call) {
        echo thrown($call), "\n";
    }
    echo "-- nothing was written --\n";
    var_dump((new TokenBucket($storage, 'x', 10, 0.001))->peek()->remaining);
    echo "-- a call for more than the capacity is denied without calling the closure --\n";
    var_dump($storage->consume('x', 11, 10, fn() => print('asked')));
    var_dump($storage->consume('x', 1e300, 10, fn() => print('asked')));
});
$memory = new TokenBucketStorageMemory;
foreach ([-1, -0.000001, NAN, INF, -INF, 'x', []] as $seconds) {
    echo thrown(fn() => $memory->advance($seconds)), "\n";
}
echo thrown(fn() => new TokenBucketStorageMemory(1)), "\n";
echo thrown(fn() => new TokenBucketStorageSharedMemory('a', 'b')), "\n";
echo thrown(fn() => new TokenBucketStorageSharedMemory([])), "\n";
?>
--EXPECT--
ValueError: …::consume(): Argument #2 ($microtime) must be greater than or equal to 0
ValueError: …::consume(): Argument #2 ($microtime) must be finite (2 times)
ValueError: …::consume(): Argument #3 ($full_microtime) must be greater than or equal to 0
ValueError: …::consume(): Argument #3 ($full_microtime) must be finite (2 times)
TypeError: …::consume(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: …::consume(): Argument #3 ($full_microtime) must be of type int|float, array given
TypeError: …::consume(): Argument #1 ($identifier) must be of type string, array given
TypeError: …::consume(): Argument #4 ($bootstrap_closure) must be a valid callback (4 times)
ArgumentCountError: …::consume() expects exactly 4 arguments, 3 given
ValueError: …::bootstrap(): Argument #2 ($microtime) must be finite (3 times)
TypeError: …::bootstrap(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: …::bootstrap(): Argument #1 ($identifier) must be of type string, array given
ArgumentCountError: …::bootstrap() expects exactly 2 arguments, 1 given
ArgumentCountError: …::prepare() expects exactly 0 arguments, 1 given
-- nothing was written --
float(10)
-- a call for more than the capacity is denied without calling the closure --
bool(false) (2 times)
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be greater than or equal to 0 (2 times)
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be finite (3 times)
TypeError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be of type float, string given
TypeError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be of type float, array given
ArgumentCountError: TokenBucketStorageMemory::__construct() expects exactly 0 arguments, 1 given
ArgumentCountError: TokenBucketStorageSharedMemory::__construct() expects at most 1 argument, 2 given
TypeError: TokenBucketStorageSharedMemory::__construct(): Argument #1 ($namespace) must be of type string, array given

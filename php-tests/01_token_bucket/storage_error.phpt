--TEST--
Native storages throw on invalid arguments
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$yes = fn() => true;
foreach (['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'] as $class) {
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
}
$memory = new TokenBucketStorageMemory;
foreach ([-1, -0.000001, NAN, INF, -INF, 'x', []] as $seconds) {
    echo thrown(fn() => $memory->advance($seconds)), "\n";
}
echo thrown(fn() => new TokenBucketStorageMemory(1)), "\n";
echo thrown(fn() => new TokenBucketStorageSharedMemory('a', 'b')), "\n";
echo thrown(fn() => new TokenBucketStorageSharedMemory([])), "\n";
?>
--EXPECT--
ValueError: TokenBucketStorageMemory::consume(): Argument #2 ($microtime) must be greater than or equal to 0
ValueError: TokenBucketStorageMemory::consume(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageMemory::consume(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageMemory::consume(): Argument #3 ($full_microtime) must be greater than or equal to 0
ValueError: TokenBucketStorageMemory::consume(): Argument #3 ($full_microtime) must be finite
ValueError: TokenBucketStorageMemory::consume(): Argument #3 ($full_microtime) must be finite
TypeError: TokenBucketStorageMemory::consume(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: TokenBucketStorageMemory::consume(): Argument #3 ($full_microtime) must be of type int|float, array given
TypeError: TokenBucketStorageMemory::consume(): Argument #1 ($identifier) must be of type string, array given
TypeError: TokenBucketStorageMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
ArgumentCountError: TokenBucketStorageMemory::consume() expects exactly 4 arguments, 3 given
ValueError: TokenBucketStorageMemory::bootstrap(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageMemory::bootstrap(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageMemory::bootstrap(): Argument #2 ($microtime) must be finite
TypeError: TokenBucketStorageMemory::bootstrap(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: TokenBucketStorageMemory::bootstrap(): Argument #1 ($identifier) must be of type string, array given
ArgumentCountError: TokenBucketStorageMemory::bootstrap() expects exactly 2 arguments, 1 given
ArgumentCountError: TokenBucketStorageMemory::prepare() expects exactly 0 arguments, 1 given
-- nothing was written --
float(10)
-- a call for more than the capacity is denied without calling the closure --
bool(false)
bool(false)
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #2 ($microtime) must be greater than or equal to 0
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #3 ($full_microtime) must be greater than or equal to 0
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #3 ($full_microtime) must be finite
ValueError: TokenBucketStorageSharedMemory::consume(): Argument #3 ($full_microtime) must be finite
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #3 ($full_microtime) must be of type int|float, array given
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #1 ($identifier) must be of type string, array given
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
TypeError: TokenBucketStorageSharedMemory::consume(): Argument #4 ($bootstrap_closure) must be a valid callback
ArgumentCountError: TokenBucketStorageSharedMemory::consume() expects exactly 4 arguments, 3 given
ValueError: TokenBucketStorageSharedMemory::bootstrap(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageSharedMemory::bootstrap(): Argument #2 ($microtime) must be finite
ValueError: TokenBucketStorageSharedMemory::bootstrap(): Argument #2 ($microtime) must be finite
TypeError: TokenBucketStorageSharedMemory::bootstrap(): Argument #2 ($microtime) must be of type int|float, string given
TypeError: TokenBucketStorageSharedMemory::bootstrap(): Argument #1 ($identifier) must be of type string, array given
ArgumentCountError: TokenBucketStorageSharedMemory::bootstrap() expects exactly 2 arguments, 1 given
ArgumentCountError: TokenBucketStorageSharedMemory::prepare() expects exactly 0 arguments, 1 given
-- nothing was written --
float(10)
-- a call for more than the capacity is denied without calling the closure --
bool(false)
bool(false)
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be greater than or equal to 0
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be greater than or equal to 0
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be finite
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be finite
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be finite
TypeError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be of type float, string given
TypeError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be of type float, array given
ArgumentCountError: TokenBucketStorageMemory::__construct() expects exactly 0 arguments, 1 given
ArgumentCountError: TokenBucketStorageSharedMemory::__construct() expects at most 1 argument, 2 given
TypeError: TokenBucketStorageSharedMemory::__construct(): Argument #1 ($namespace) must be of type string, array given

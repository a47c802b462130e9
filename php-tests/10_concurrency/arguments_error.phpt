--TEST--
ConcurrencyLimit converts its arguments by PHP's rules, and throws for invalid ones
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\ConcurrencyLimit;
use TokenBucket\Permit;

$storage = new TokenBucketStorageSharedMemory;
$named = new class {
    public function __toString(): string
    {
        return '7';
    }
};

fold_equal_lines();
echo "-- the limit --\n";
foreach ([0, -1, 1025, PHP_INT_MAX, PHP_INT_MIN, 65537, NAN, INF, 'x', []] as $limit) {
    echo thrown(fn () => new ConcurrencyLimit($storage, 'x', $limit)), "\n";
}
foreach ([1, 1024, '2', 3.0, true] as $limit) {
    print_values((new ConcurrencyLimit($storage, 'x', $limit))->acquire()->decision->capacity);
}
echo "-- the identifier --\n";
$seven = (new ConcurrencyLimit($storage, 7, 1))->acquire();
foreach (['7', $named, 7.0] as $identifier) {
    print_values((new ConcurrencyLimit($storage, $identifier, 1))->held());
}
foreach (["7\0", '07', ''] as $identifier) {
    print_values((new ConcurrencyLimit($storage, $identifier, 1))->held());
}
echo thrown(fn () => new ConcurrencyLimit($storage, [], 1)), "\n";
echo "-- the lease --\n";
foreach ([-1, NAN, INF, 0, -INF, 1e300, 2 ** 60 / 1e9, 'x'] as $lease) {
    echo thrown(fn () => new ConcurrencyLimit($storage, 'x', 1, $lease)), "\n";
}
print_values((new ConcurrencyLimit($storage, 'x', 1, lease: 1))->held());
echo "-- the timeout --\n";
$limit = new ConcurrencyLimit($storage, 'x', 1);
foreach ([-0.5, -INF, NAN, 'x', []] as $timeout) {
    echo thrown(fn () => $limit->acquire($timeout)), "\n";
}
print_values($limit->acquire(timeout: '0')->decision->allowed, $limit->acquire(INF)->decision->allowed, $limit->acquire(-0.0)->decision->allowed);
echo "-- the storage --\n";
class Userland implements TokenBucketStorage
{
    public function prepare() {}

    public function bootstrap($identifier, $microtime) {}

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
}
foreach ([new TokenBucketStorageRedis('redis://127.0.0.1:1'), new TokenBucketStorageMemcached('127.0.0.1:1'), new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits'), new Userland, new stdClass, null] as $other) {
    echo thrown(fn () => new ConcurrencyLimit($other, 'x', 1)), "\n";
}
echo "-- the number of arguments, and strict types --\n";
echo thrown(fn () => new ConcurrencyLimit($storage, 'x')), "\n";
echo thrown(fn () => $limit->acquire(1, 2, 3)), "\n";
echo thrown(fn () => $limit->held(1)), "\n";
echo thrown(fn () => $seven->release(1)), "\n";
echo thrown(fn () => $seven->renew(1)), "\n";
eval('declare(strict_types=1);
    foreach ([fn () => new TokenBucket\ConcurrencyLimit($storage, 7, 1), fn () => new TokenBucket\ConcurrencyLimit($storage, "x", "1"), fn () => $limit->acquire("1")] as $call) {
        echo thrown($call), "\n";
    }
    print_values((new TokenBucket\ConcurrencyLimit($storage, "x", 1, 1))->acquire(0)->decision->allowed);');
echo "-- objects --\n";
echo thrown(fn () => $limit->__construct($storage, 'y', 2)), "\n";
print_values((clone $limit)->held(), $limit == clone $limit);
echo thrown(fn () => new Permit), "\n";
echo thrown(fn () => clone $seven), "\n";
echo thrown(fn () => (new ReflectionClass('TokenBucket\Permit'))->newInstanceWithoutConstructor()), "\n";
foreach ([$limit, $seven] as $object) {
    echo thrown(fn () => serialize($object)), "\n";
    echo thrown(fn () => $object->extra = 1), "\n";
    print_values((new ReflectionClass($object))->isFinal());
}
echo thrown(fn () => $seven->decision = null), "\n";
echo thrown(fn () => $limit->limit), "\n";
print_values($seven->renew());
?>
--EXPECT--
-- the limit --
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #3 ($limit) must be between 1 and 1024 (6 times)
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #3 ($limit) must be of type int, float given (2 times)
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #3 ($limit) must be of type int, string given
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #3 ($limit) must be of type int, array given
1.0
1024.0
2.0
3.0
1.0
-- the identifier --
1 (3 times)
0 (3 times)
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #2 ($identifier) must be of type string, array given
-- the lease --
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must be greater than 0
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must not be NAN
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must be finite
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must be greater than 0 (2 times)
ValueError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must be less than 2^60 nanoseconds (36 years) (2 times)
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #4 ($lease) must be of type float, string given
0
-- the timeout --
ValueError: TokenBucket\ConcurrencyLimit::acquire(): Argument #1 ($timeout) must be greater than or equal to 0 (2 times)
ValueError: TokenBucket\ConcurrencyLimit::acquire(): Argument #1 ($timeout) must not be NAN
TypeError: TokenBucket\ConcurrencyLimit::acquire(): Argument #1 ($timeout) must be of type float, string given
TypeError: TokenBucket\ConcurrencyLimit::acquire(): Argument #1 ($timeout) must be of type float, array given
true true true
-- the storage --
nothing thrown
LogicException: TokenBucket\ConcurrencyLimit needs a TokenBucketStorageSharedMemory, a TokenBucketStorageRedis or a TokenBucketStorageMemory, because other storages cannot keep permits (3 times)
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, stdClass given
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, null given
-- the number of arguments, and strict types --
ArgumentCountError: TokenBucket\ConcurrencyLimit::__construct() expects at least 3 arguments, 2 given
ArgumentCountError: TokenBucket\ConcurrencyLimit::acquire() expects at most 2 arguments, 3 given
ArgumentCountError: TokenBucket\ConcurrencyLimit::held() expects exactly 0 arguments, 1 given
ArgumentCountError: TokenBucket\Permit::release() expects exactly 0 arguments, 1 given
ArgumentCountError: TokenBucket\Permit::renew() expects exactly 0 arguments, 1 given
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #2 ($identifier) must be of type string, int given
TypeError: TokenBucket\ConcurrencyLimit::__construct(): Argument #3 ($limit) must be of type int, string given
TypeError: TokenBucket\ConcurrencyLimit::acquire(): Argument #1 ($timeout) must be of type float, string given
true
-- objects --
Error: TokenBucket\ConcurrencyLimit has already been constructed
0 true
Error: Call to private TokenBucket\Permit::__construct() from global scope
Error: Trying to clone an uncloneable object of class TokenBucket\Permit
ReflectionException: Class TokenBucket\Permit is an internal class marked as final that cannot be instantiated without invoking its constructor
Exception: Serialization of 'TokenBucket\ConcurrencyLimit' is not allowed
Error: Cannot create dynamic property TokenBucket\ConcurrencyLimit::$extra
true
Exception: Serialization of 'TokenBucket\Permit' is not allowed
Error: Cannot create dynamic property TokenBucket\Permit::$extra
true
Error: Cannot modify readonly property TokenBucket\Permit::$decision
Error: Cannot access private property TokenBucket\ConcurrencyLimit::$limit
true

--TEST--
Remote storages cannot be cloned, serialised, constructed twice, extended or modified
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$redis = fn (string $dsn = 'redis://user:secret@h:1/2', mixed ...$more) => new TokenBucketStorageRedis($dsn, ...$more);
$memcached = fn (string|array $servers = ['a', 'b:2?weight=3', 'unix:///run/m.sock']) => new TokenBucketStorageMemcached($servers, 'p');
foreach ([$redis(), $memcached()] as $storage) {
    $class = get_class($storage);
    echo "-- $class --\n";
    foreach ([
        fn () => clone $storage,
        fn () => serialize($storage),
        fn () => unserialize(sprintf('O:%d:"%s":0:{}', strlen($class), $class)),
        fn () => $storage->__construct($class === 'TokenBucketStorageRedis' ? 'redis://other' : 'other', 'other'),
        fn () => $storage->__construct(''),
        fn () => (new ReflectionClass($storage))->newInstanceWithoutConstructor(),
        fn () => $storage->more = 1,
        fn () => $storage->prefix = 'x',
        fn () => (new ReflectionProperty($storage, 'prefix'))->setValue($storage, 'x'),
    ] as $call) {
        echo thrown($call), "\n";
    }
    echo json_encode(array_values((array) $storage), JSON_UNESCAPED_SLASHES), "\n";
    print_values((new ReflectionClass($storage))->isFinal(), $storage == clone_of($storage));
}

/** Constructs a storage of the same class with the same arguments. */
function clone_of(object $storage): object
{
    return $storage instanceof TokenBucketStorageRedis
        ? new TokenBucketStorageRedis('redis://user:secret@h:1/2')
        : new TokenBucketStorageMemcached(['a', 'b:2?weight=3', 'unix:///run/m.sock'], 'p');
}
?>
--EXPECT--
-- TokenBucketStorageRedis --
Error: Trying to clone an uncloneable object of class TokenBucketStorageRedis
Exception: Serialization of 'TokenBucketStorageRedis' is not allowed
Exception: Unserialization of 'TokenBucketStorageRedis' is not allowed
Error: TokenBucketStorageRedis has already been constructed
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
ReflectionException: Class TokenBucketStorageRedis is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property TokenBucketStorageRedis::$more
Error: Cannot access private property TokenBucketStorageRedis::$prefix
Error: Cannot modify readonly property TokenBucketStorageRedis::$prefix
["redis://h:1/2","tokenbucket:"]
true true
-- TokenBucketStorageMemcached --
Error: Trying to clone an uncloneable object of class TokenBucketStorageMemcached
Exception: Serialization of 'TokenBucketStorageMemcached' is not allowed
Exception: Unserialization of 'TokenBucketStorageMemcached' is not allowed
Error: TokenBucketStorageMemcached has already been constructed
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must name at least one server
ReflectionException: Class TokenBucketStorageMemcached is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property TokenBucketStorageMemcached::$more
Error: Cannot access private property TokenBucketStorageMemcached::$prefix
Error: Cannot modify readonly property TokenBucketStorageMemcached::$prefix
["a:11211,b:2,unix:///run/m.sock","p"]
true true

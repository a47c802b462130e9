--TEST--
Remote storages cannot be cloned, serialised, constructed twice, extended or modified
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

const SERVERS = [
    'TokenBucketStorageRedis' => 'redis://user:secret@h:1/2',
    'TokenBucketStorageMemcached' => ['a', 'b:2?weight=3', 'unix:///run/m.sock'],
];
alike(array_keys(SERVERS), function (string $class): void {
    $new = fn () => new $class(SERVERS[$class], 'p');
    $storage = $new();
    foreach ([
        fn () => clone $storage,
        fn () => serialize($storage),
        fn () => unserialize(sprintf('O:%d:"%s":0:{}', strlen($class), $class)),
        fn () => $storage->__construct('unix:///run/other', 'other'),
        fn () => (new ReflectionClass($storage))->newInstanceWithoutConstructor(),
        fn () => $storage->more = 1,
        fn () => $storage->prefix = 'x',
        fn () => (new ReflectionProperty($storage, 'prefix'))->setValue($storage, 'x'),
    ] as $call) {
        echo thrown($call), "\n";
    }
    check(str_starts_with(thrown(fn () => $storage->__construct('')), 'ValueError: '), "$class reports an invalid argument first");
    print_values((new ReflectionClass($storage))->isFinal(), $storage == $new(), (array) $storage === (array) $new());
});
?>
--EXPECT--
Error: Trying to clone an uncloneable object of class …
Exception: Serialization of '…' is not allowed
Exception: Unserialization of '…' is not allowed
Error: … has already been constructed
ReflectionException: Class … is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property …::$more
Error: Cannot access private property …::$prefix
Error: Cannot modify readonly property …::$prefix
true true true

--TEST--
A closure may use storages, and a record created meanwhile overrides the one that the closure proposes
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    $consume = fn($id, $tokens, $closure) => $storage->consume($id, $tokens * 1000.0, 10000.0, $closure);
    $yes = fn() => true;

    echo "the closure takes from the same bucket: both calls are charged\n";
    print_values($consume('x', 3, fn() => $consume('x', 4, $yes)), $left('x'));
    echo "the closure drains the bucket: the outer call is denied\n";
    print_values($consume('y', 3, function () use ($consume, $storage, $yes) {
        print_values($consume('y', 9, $yes));
        $storage->bootstrap('y', microtime(true) - 10000);
        return true;
    }), $left('y'));
    echo "the closure proposes, then takes: the inner call does not use the proposal\n";
    print_values($consume('z', 1, function () use ($consume, $storage, $yes) {
        $storage->bootstrap('z', microtime(true) - 4500);
        $consume('z', 2, $yes);
        return true;
    }));
    print_values($left('z') <= 7.0);
    echo "the closure resets another bucket and uses another storage\n";
    print_values($consume('w', 1, function () use ($consume, $class) {
        (new TokenBucket(new TokenBucketStorageMemory, 'w', 5, 1))->consume(2);
        (new TokenBucket(new $class, 'other', 5, 1))->reset();
        return true;
    }), $left('w'));
    echo "twenty nested closures\n";
    $down = function ($level) use (&$down, $consume) {
        return $level === 0 ? true : $consume("level $level", 1, fn() => $down($level - 1));
    };
    print_values($down(20), $left('level 20'), $left('level 1'));
    echo "the closure releases the storage\n";
    $lonely = $class === 'TokenBucketStorageMemory' ? new $class : new $class('lonely');
    print_values($lonely->consume('u', 1.0, 10.0, function () use (&$lonely) {
        $lonely = null;
        return true;
    }));
});
echo "the closure advances the clock\n";
$storage = new TokenBucketStorageMemory;
print_values($storage->consume('v', 1000, 10000, function () use ($storage) {
    $storage->advance(5000);
    return true;
}), (new TokenBucket($storage, 'v', 10, 0.001))->peek()->remaining);
?>
--EXPECT--
the closure takes from the same bucket: both calls are charged
true 3.0
the closure drains the bucket: the outer call is denied
true
false 1.0
the closure proposes, then takes: the inner call does not use the proposal
true
true
the closure resets another bucket and uses another storage
true 9.0
twenty nested closures
true 9.0 9.0
the closure releases the storage
true
the closure advances the clock
true 9.0

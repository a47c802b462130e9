--TEST--
A closure may use storages, and a bucket created meanwhile wins over its proposal
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';

foreach (['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    $consume = fn($id, $tokens, $closure) => $storage->consume($id, $tokens * 1000.0, 10000.0, $closure);
    $yes = fn() => true;

    echo "it takes some of the same bucket: both pay\n";
    var_dump($consume('x', 3, fn() => $consume('x', 4, $yes)), $left('x'));
    echo "it drains it: denied, for it was live by then\n";
    var_dump($consume('y', 3, function () use ($consume, $storage, $yes) {
        var_dump($consume('y', 9, $yes));
        $storage->bootstrap('y', microtime(true) - 10000);
        return true;
    }), $left('y'));
    echo "it proposes first, then takes: the proposal is only its own level's\n";
    var_dump($consume('z', 1, function () use ($consume, $storage, $yes) {
        $storage->bootstrap('z', microtime(true) - 4500);
        $consume('z', 2, $yes);
        return true;
    }));
    var_dump($left('z') <= 7.0);
    echo "it resets another bucket, and uses another storage\n";
    var_dump($consume('w', 1, function () use ($consume, $class) {
        (new TokenBucket(new TokenBucketStorageMemory, 'w', 5, 1))->consume(2);
        (new TokenBucket(new $class, 'other', 5, 1))->reset();
        return true;
    }), $left('w'));
    echo "twenty levels\n";
    $down = function ($level) use (&$down, $consume) {
        return $level === 0 ? true : $consume("level $level", 1, fn() => $down($level - 1));
    };
    var_dump($down(20), $left('level 20'), $left('level 1'));
    echo "a storage advanced inside\n";
    if ($storage instanceof TokenBucketStorageMemory) {
        var_dump($consume('v', 1, function () use ($storage) {
            $storage->advance(5000);
            return true;
        }), $left('v'));
    }
    echo "a storage forgotten inside\n";
    $lonely = $class === 'TokenBucketStorageMemory' ? new $class : new $class('lonely');
    var_dump($lonely->consume('u', 1.0, 10.0, function () use (&$lonely) {
        $lonely = null;
        return true;
    }));
}
?>
--EXPECT--
-- TokenBucketStorageMemory --
it takes some of the same bucket: both pay
bool(true)
float(3)
it drains it: denied, for it was live by then
bool(true)
bool(false)
float(1)
it proposes first, then takes: the proposal is only its own level's
bool(true)
bool(true)
it resets another bucket, and uses another storage
bool(true)
float(9)
twenty levels
bool(true)
float(9)
float(9)
a storage advanced inside
bool(true)
float(9)
a storage forgotten inside
bool(true)
-- TokenBucketStorageSharedMemory --
it takes some of the same bucket: both pay
bool(true)
float(3)
it drains it: denied, for it was live by then
bool(true)
bool(false)
float(1)
it proposes first, then takes: the proposal is only its own level's
bool(true)
bool(true)
it resets another bucket, and uses another storage
bool(true)
float(9)
twenty levels
bool(true)
float(9)
float(9)
a storage advanced inside
a storage forgotten inside
bool(true)

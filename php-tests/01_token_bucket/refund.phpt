--TEST--
refund() gives tokens back, and reset() fills the bucket
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

foreach (['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $bucket = new TokenBucket($storage, 'x', 10, 0.001);
    $left = fn() => $bucket->peek()->remaining;
    $bucket->consume(8);
    var_dump($bucket->refund(), $left());
    $bucket->refund(2.5);
    var_dump($left());
    $bucket->refund(0);
    var_dump($left());
    echo "a refund never exceeds the capacity\n";
    $bucket->refund(10);
    var_dump($left());
    $bucket->refund(PHP_INT_MAX);
    $bucket->refund(1e308);
    var_dump($left(), $bucket->consume(10), $bucket->consume(1));
    echo "a refund leaves a full bucket full\n";
    $fresh = new TokenBucket($storage, 'fresh', 10, 0.001);
    $fresh->refund(5);
    var_dump($fresh->peek()->remaining, $fresh->consume(10), $fresh->consume(1));
    echo "reset() fills the bucket\n";
    var_dump($bucket->reset(), $left());
    var_dump($bucket->consume(10), $bucket->consume(1));
    $bucket->reset();
    $bucket->reset();
    var_dump($left());
    echo "a refund pays a debt\n";
    $storage->bootstrap('debt', microtime(true) + 1990);
    $debtor = new TokenBucket($storage, 'debt', 10, 0.001);
    var_dump($debtor->consume(0));
    $debtor->refund(2);
    var_dump($debtor->consume(0), $debtor->peek()->remaining);
}
echo "-- taking and refunding tokens restores the state --\n";
mt_srand(6);
for ($i = 0; $i < 200; $i++) {
    $storage = new TokenBucketStorageMemory;
    $bucket = new TokenBucket($storage, 'x', 50, mt_rand(1, 100000) / mt_rand(1, 1000));
    $bucket->consume(mt_rand(0, 30));
    $before = $bucket->peek();
    $tokens = mt_rand(0, (int) $before->remaining);
    $bucket->consume($tokens);
    $bucket->refund($tokens);
    check($bucket->peek() == $before, "$tokens");
}
?>
--EXPECT--
-- TokenBucketStorageMemory --
NULL
float(3)
float(5)
float(5)
a refund never exceeds the capacity
float(10)
float(10)
bool(true)
bool(false)
a refund leaves a full bucket full
float(10)
bool(true)
bool(false)
reset() fills the bucket
NULL
float(10)
bool(true)
bool(false)
float(10)
a refund pays a debt
bool(false)
bool(true)
float(0)
-- TokenBucketStorageSharedMemory --
NULL
float(3)
float(5)
float(5)
a refund never exceeds the capacity
float(10)
float(10)
bool(true)
bool(false)
a refund leaves a full bucket full
float(10)
bool(true)
bool(false)
reset() fills the bucket
NULL
float(10)
bool(true)
bool(false)
float(10)
a refund pays a debt
bool(false)
bool(true)
float(0)
-- taking and refunding tokens restores the state --

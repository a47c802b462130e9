--TEST--
refund() gives tokens back, and reset() fills the bucket
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $bucket = new TokenBucket($storage, 'x', 10, 0.001);
    $left = fn() => $bucket->peek()->remaining;
    $bucket->consume(8);
    print_values($bucket->refund(), $left());
    $bucket->refund(2.5);
    print_values($left());
    $bucket->refund(0);
    print_values($left());
    echo "a refund never exceeds the capacity\n";
    $bucket->refund(10);
    print_values($left());
    $bucket->refund(PHP_INT_MAX);
    $bucket->refund(1e308);
    print_values($left(), $bucket->consume(10), $bucket->consume(1));
    echo "a refund leaves a full bucket full\n";
    $fresh = new TokenBucket($storage, 'fresh', 10, 0.001);
    $fresh->refund(5);
    print_values($fresh->peek()->remaining, $fresh->consume(10), $fresh->consume(1));
    echo "reset() fills the bucket\n";
    print_values($bucket->reset(), $left(), $bucket->consume(10), $bucket->consume(1));
    $bucket->reset();
    $bucket->reset();
    print_values($left());
    echo "a refund pays a debt\n";
    $storage->bootstrap('debt', microtime(true) + 1990);
    $debtor = new TokenBucket($storage, 'debt', 10, 0.001);
    print_values($debtor->consume(0));
    $debtor->refund(2);
    print_values($debtor->consume(0), $debtor->peek()->remaining);
});
?>
--EXPECT--
null 3.0
5.0
5.0
a refund never exceeds the capacity
10.0
10.0 true false
a refund leaves a full bucket full
10.0 true false
reset() fills the bucket
null 10.0 true false
10.0
a refund pays a debt
false
true 0.0

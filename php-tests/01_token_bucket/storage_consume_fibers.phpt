--TEST--
Closures that run interleaved in fibers keep the records that they propose separate
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    $start = function (string $id, float $proposed) use ($storage): Fiber {
        $fiber = new Fiber(fn() => $storage->consume($id, 1000, 10000, function () use ($storage, $id, $proposed) {
            Fiber::suspend();
            $storage->bootstrap($id, microtime(true) - $proposed * 1000);
            Fiber::suspend();
            return true;
        }));
        $fiber->start();
        return $fiber;
    };
    $a = $start('a', 2.5);
    $b = $start('b', 5.5);
    $c = $start('c', 7.5);
    foreach ([$b, $a, $c, $a, $c, $b] as $fiber) {
        $fiber->resume();
    }
    print_values($a->getReturn(), $b->getReturn(), $c->getReturn());
    echo $left('a'), ' ', $left('b'), ' ', $left('c'), "\n";

    echo "two closures for one bucket: the first to return creates the bucket, the second is charged\n";
    $a = $start('same', 5.5);
    $b = $start('same', 8.5);
    foreach ([$a, $b, $a, $b] as $fiber) {
        $fiber->resume();
    }
    print_values($a->getReturn(), $b->getReturn(), $left('same'));

    echo "a closure that never returns leaves no proposal behind\n";
    $a = $start('never', 5.5);
    unset($a, $fiber);
    gc_collect_cycles();
    $storage->bootstrap('never', microtime(true) - 3500);
    print_values($left('never'));

    echo "a bucket that another fiber creates meanwhile stays\n";
    $a = $start('other', 5.5);
    $storage->bootstrap('other', microtime(true) - 2500);
    print_values($left('other'));
    $a->resume();
    $a->resume();
    print_values($a->getReturn(), $left('other'));
});
?>
--EXPECT--
true true true
2 5 7
two closures for one bucket: the first to return creates the bucket, the second is charged
true true 4.0
a closure that never returns leaves no proposal behind
3.0
a bucket that another fiber creates meanwhile stays
2.0
true 1.0

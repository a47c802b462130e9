<?php
/** Runs two limiters in one harness. Each limiter may grant 100,000 tokens to eight processes. */
require_once __DIR__ . '/../../tools/testkit/php/processes.php';

const CAPACITY = 100000;

$harness = fn(callable $try) => array_sum(in_processes(8, function (int $index, callable $barrier) use ($try): int {
    $granted = 0;
    for ($chunk = 0; $chunk < 50; $chunk++) {
        $barrier();
        for ($i = 0; $i < 1000; $i++) {
            $granted += (int) $try();
        }
    }
    return $granted;
}));

// Some calls pause between their check and their set. Otherwise, processes that share a busy
// processor may run one after another and never race.
for ($round = 0, $granted = 0; $granted <= CAPACITY && $round < 20; $round++) {
    apcu_store('left', CAPACITY);
    $granted = $harness(function (): bool {
        $left = apcu_fetch('left');
        if ($left < 1) {
            return false;
        }
        if ($left % 1000 === 0) {
            usleep(1000);
        }
        apcu_store('left', $left - 1);
        return true;
    });
}
echo 'check-then-set on APCu: ', $granted > CAPACITY ? 'more than ' . CAPACITY : $granted, "\n";

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'control', CAPACITY, 0.001);
echo 'TokenBucket: ', $harness(fn(): bool => $bucket->consume()), "\n";

<?php
// One thread forks while others call Redis. Its children call Redis, too, and none of them hangs.
require __DIR__ . '/phases.inc.php';

const CAPACITY = 2_000;

function grants(int $tries): int
{
    $storage = new TokenBucketStorageRedis('unix://' . getenv('REDIS'), prefix: 'fork' . getenv('PREFIX'), timeout: 20.0, hints: false);
    return take(without_refill($storage, 'forked', CAPACITY), $tries)
        + take(without_refill(new TokenBucketStorageSharedMemory(), 'forked', CAPACITY), $tries);
}

run(['threads' => 8, 'requests' => 40], function (int $thread) {
    if ($thread !== 0) {
        return grants(20);
    }
    $child = pcntl_fork();
    if ($child === 0) {
        return grants(5);
    }
    for ($until = microtime(true) + 20; pcntl_waitpid($child, $status, WNOHANG) === 0; usleep(1000)) {
        if (microtime(true) > $until) {
            exec("kill -9 $child");
            return 'a child hangs';
        }
    }
    return $status === 0 ? 0 : "a child ended with $status";
}, function (array $results) {
    same([], array_values(array_filter($results, is_string(...))), 'children');
    // The parent of a child records 0.
    same(9 * 40, count($results), 'requests');
    same(2 * CAPACITY, array_sum($results), 'grants');
    $memory = TokenBucket\status()['shared_memory'];
    same([CAPACITY, 40 * (7 * 20 + 5) - CAPACITY], [$memory['granted'], $memory['denied']], 'granted and denied');
});

<?php
// One thread forks while others call Redis. Its children call Redis, too, and none of them hangs.
require __DIR__ . '/phases.inc.php';

const CAPACITY = 2_000;
const REQUESTS = 40;
// The number of children that the first thread forks in each request.
const CHILDREN = 5;
const TRIES = 40;
const TRIES_OF_CHILD = 5;

// Read before the fork, because another thread may hold PHP's lock of the environment.
$dsn = 'unix://' . getenv('REDIS');
$prefix = 'fork' . getenv('PREFIX');

function grants(int $tries): int
{
    $storage = new TokenBucketStorageRedis($GLOBALS['dsn'], prefix: $GLOBALS['prefix'], timeout: 20.0, denialCache: false);
    return take(without_refill($storage, 'forked', CAPACITY), $tries)
        + take(without_refill(new TokenBucketStorageSharedMemory(), 'forked', CAPACITY), $tries);
}

/** Forks, and returns null in the child. In the parent, returns 0 or the failure of the child. */
function fork_and_wait(): int|string|null
{
    $child = pcntl_fork();
    if ($child === 0) {
        return null;
    }
    for ($until = microtime(true) + 20; pcntl_waitpid($child, $status, WNOHANG) === 0; usleep(1000)) {
        if (microtime(true) > $until) {
            exec("kill -9 $child");
            return 'a child hangs';
        }
    }
    return $status === 0 ? 0 : "a child ended with $status";
}

run(['threads' => 8, 'requests' => REQUESTS], function (int $thread) {
    if ($thread !== 0) {
        return grants(TRIES);
    }
    for ($children = 0; $children < CHILDREN; $children++) {
        $failure = fork_and_wait();
        if ($failure !== 0) {
            return $failure ?? grants(TRIES_OF_CHILD);
        }
    }
    return 0;
}, function (array $results) {
    same([], array_values(array_filter($results, is_string(...))), 'children');
    same((8 + CHILDREN) * REQUESTS, count($results), 'requests');
    same(2 * CAPACITY, array_sum($results), 'grants');
    $memory = TokenBucket\status()['shared_memory'];
    $calls = REQUESTS * (7 * TRIES + CHILDREN * TRIES_OF_CHILD);
    same([CAPACITY, $calls - CAPACITY], [$memory['granted'], $memory['denied']], 'granted and denied');
});

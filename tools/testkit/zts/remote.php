<?php
// Threads share buckets on Redis and on memcached, with and without the denial cache.
require __DIR__ . '/phases.inc.php';

use TokenBucket\OnFailure;

const CAPACITY = 500;
const TRIES = 10;

run(['threads' => 16, 'requests' => 40], function (int $thread, int $request) {
    $options = ['denialCache' => $request % 2 === 0, 'timeout' => 20.0, 'onFailure' => OnFailure::Throw, 'prefix' => getenv('PREFIX')];
    $storage = $request % 4 < 2
        ? new TokenBucketStorageRedis('unix://' . getenv('REDIS'), ...$options)
        : new TokenBucketStorageMemcached('unix://' . getenv('MEMCACHED'), ...$options);
    return [$request % 4, take(without_refill($storage, 'kind ' . $request % 4, CAPACITY), TRIES)];
}, function (array $results) {
    same(16 * 40, count($results), 'requests');
    $sums = [0, 0, 0, 0];
    foreach ($results as [$kind, $granted]) {
        $sums[$kind] += $granted;
    }
    same(array_fill(0, 4, CAPACITY), $sums, 'grants');
    $remote = TokenBucket\status()['remote'];
    same(16 * 40 * TRIES, $remote['asked'] + $remote['cached'], 'calls');
    same(0, $remote['failed'], 'failures');
    // Each thread has closed its connections at its end.
    $sockets = array_filter(glob('/proc/self/fd/*'), fn (string $fd) => str_starts_with((string) @readlink($fd), 'socket:'));
    same([], array_values($sockets), 'open connections');
});

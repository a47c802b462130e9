<?php
// Threads share four buckets. Grants, and the totals of status(), are exact.
require __DIR__ . '/phases.inc.php';

const TRIES = 2_000;
$threads = (int) getenv('THREADS');
$requests = (int) getenv('REQUESTS');
$calls = $threads * $requests * TRIES;
// The four buckets grant half of the calls.
$capacity = intdiv($calls, 8);

run(['threads' => $threads, 'requests' => $requests], function (int $thread, int $request) use ($capacity) {
    $storage = new TokenBucketStorageSharedMemory();
    $granted = take(without_refill($storage, 'shared ' . $request % 4, $capacity), TRIES);
    $own = without_refill($storage, "own $thread", 1);
    $own->consume();
    $own->refund();
    $own->reset();
    return $granted;
}, function (array $granted) use ($threads, $requests, $calls, $capacity) {
    $all = $threads * $requests;
    same($all, count($granted), 'requests');
    same(4 * $capacity, array_sum($granted), 'grants');
    $status = TokenBucket\status();
    $memory = $status['shared_memory'];
    same(4 * $capacity + $all, $memory['granted'], 'granted');
    same($calls - 4 * $capacity, $memory['denied'], 'denied');
    same([$all, $all, 0], [$memory['refunds'], $memory['resets'], $memory['contended']], 'refunds, resets, contended');
    $rows = array_column($status['decisions'], null, 'namespace');
    same($memory['granted'], $rows['']['granted_by_store'], 'granted in the namespace');
});

<?php
// PHP starts several times in one process, as when FrankenPHP reloads its configuration. A segment
// and its keys belong to one start.
require __DIR__ . '/phases.inc.php';

const CAPACITY = 1_000;

function bucket(): TokenBucket
{
    return without_refill(new TokenBucketStorageSharedMemory('app'), 'shared', CAPACITY);
}

run(['threads' => 8, 'requests' => 10, 'starts' => 5], fn () => take(bucket(), 20), function (array $granted) {
    same(CAPACITY, array_sum($granted), 'grants');
    // This thread lives on when PHP starts again.
    same(0, take(bucket(), 10), 'grants of the first thread');
    same(CAPACITY, TokenBucket\status()['shared_memory']['granted'], 'granted');
}, bucket(...));

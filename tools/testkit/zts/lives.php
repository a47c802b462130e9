<?php
// Threads end and others follow, while some requests end early: by exit(), by an exception, and by
// fatal errors inside of methods.
require __DIR__ . '/phases.inc.php';

const CAPACITY = 20_000;

run(['threads' => 16, 'lives' => 8, 'requests' => 80], function (int $thread, int $request) {
    $storage = new TokenBucketStorageSharedMemory();
    record(take(without_refill($storage, 'shared', CAPACITY), 40));
    ini_set('log_errors', '0');
    $fail = new class($storage, "own $thread $request", 1, 1) extends TokenBucket {
        public function _bootstrap($tokens = 0): void
        {
            $_SERVER['REQUEST'] % 5 === 3 ? str_repeat('x', 1 << 40) : trigger_error('fatal', E_USER_ERROR);
        }
    };
    match ($request % 5) {
        0 => null,
        1 => exit(),
        2 => throw new Exception('uncaught'),
        3, 4 => $fail->consume(),
    };
    return null;
}, function (array $granted) {
    same(16 * 80, count($granted), 'requests');
    same(CAPACITY, array_sum($granted), 'grants');
    $memory = TokenBucket\status()['shared_memory'];
    same([CAPACITY, 16 * 80 * 40 - CAPACITY], [$memory['granted'], $memory['denied']], 'granted and denied');
});

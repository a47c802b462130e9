<?php
// Requests in eight namespaces use the same identifier. Each namespace has a bucket of its own.
require __DIR__ . '/phases.inc.php';

const NAMESPACES = 8;
const CAPACITY = 5000;

run(['threads' => 16, 'requests' => 50, 'namespaces' => NAMESPACES], function (int $thread) {
    // A new storage reads the namespace.
    for ($granted = $i = 0; $i < 20; $i++) {
        $granted += take(without_refill(new TokenBucketStorageSharedMemory(), 'one', CAPACITY), 10);
    }
    return [ini_get('tokenbucket.namespace'), $thread % NAMESPACES, $granted];
}, function (array $results) {
    $sums = array_fill(0, NAMESPACES, 0);
    foreach ($results as [$namespace, $number, $granted]) {
        same("ns$number", $namespace, 'the setting');
        $sums[$number] += $granted;
    }
    $rows = array_column(TokenBucket\status()['decisions'], null, 'namespace');
    foreach ($sums as $number => $sum) {
        $row = $rows["ns$number"] ?? ['granted_by_store' => 0, 'denied_by_store' => 0];
        same(CAPACITY, $sum, "grants in ns$number");
        same([CAPACITY, 20_000 - CAPACITY], [$row['granted_by_store'], $row['denied_by_store']], "decisions in ns$number");
    }
});

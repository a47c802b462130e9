<?php
// A script serves many requests, as in FrankenPHP's worker mode. Its objects live on and keep their
// namespace. A storage that a request makes is in the namespace of that request.
require __DIR__ . '/phases.inc.php';

const REQUESTS = 100;
const NAMESPACES = 4;

run(['threads' => 8, 'requests' => 1, 'namespaces' => NAMESPACES], function (int $thread) {
    $kept = without_refill(new TokenBucketStorageSharedMemory(), 'kept', 500);
    $granted = ['kept' => 0, 'new' => array_fill(0, NAMESPACES, 0)];
    for ($request = 0; $request < REQUESTS; $request++) {
        $namespace = ($thread + $request) % NAMESPACES;
        next_request($namespace);
        $granted['kept'] += take($kept, 10);
        $granted['new'][$namespace] += take(without_refill(new TokenBucketStorageSharedMemory(), 'new', 400), 5);
    }
    return [$thread % NAMESPACES, $granted];
}, function (array $results) {
    $kept = $new = array_fill(0, NAMESPACES, 0);
    foreach ($results as [$namespace, $granted]) {
        $kept[$namespace] += $granted['kept'];
        foreach ($granted['new'] as $other => $sum) {
            $new[$other] += $sum;
        }
    }
    same(array_fill(0, NAMESPACES, 500), $kept, 'grants of objects that live on');
    same(array_fill(0, NAMESPACES, 400), $new, 'grants of new objects');
    $memory = TokenBucket\status()['shared_memory'];
    same(8 * REQUESTS * 15, $memory['granted'] + $memory['denied'], 'calls');
});

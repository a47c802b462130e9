--TEST--
Under php-fpm: each worker reads the decisions of all workers, also those of killed workers
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../03_php_fpm/traffic.inc.php';

$redis = RedisServer::start();
$fpm = new Fpm(['www' => ['pm.max_children' => 5]]);
$status = $fpm->script('status', '<?php echo json_encode(TokenBucket\status()["decisions"]);');
$new = [
    'shared_memory' => 'new TokenBucketStorageSharedMemory("login")',
    'redis' => "new TokenBucketStorageRedis('redis://127.0.0.1:$redis->port', 'login', 5.0, TokenBucket\OnFailure::Throw)",
];

/** Returns the grants and the denials of a store's namespace. */
$counted = function (string $store) use ($fpm, $status): array {
    foreach (json_decode($fpm->get($status), true) as $row) {
        if ($row['store'] === $store && $row['namespace'] === 'login') {
            check($row['granted_by_fallback'] + $row['denied_by_fallback'] === 0, 'no fallback');
            return [$row['granted_by_store'], $row['denied_by_store'] + $row['denied_by_denial_cache']];
        }
    }
    return [0, 0];
};

foreach ($new as $store => $storage) {
    $consume = $fpm->script($store, str_replace('new TokenBucketStorageSharedMemory', $storage, CONSUME));
    $get = fn (string $id) => fn () => $fpm->get($consume, ['id' => $id, 'capacity' => 600]);
    $traffic = Traffic::of(4, 250, $get('calm'));
    check([$traffic->granted, $traffic->denied, $traffic->lost] === [600, 400, 0], 'the replies');
    for ($i = 0; $i < 10; $i++) {
        check($counted($store) === [600, 400], "$store: " . json_encode($counted($store)));
    }

    $kills = 20;
    $traffic = Traffic::of(4, 400, $get('killed'), function () use ($fpm, $kills): void {
        for ($i = 0; $i < $kills; $i++) {
            usleep(10_000);
            if ($workers = $fpm->workers()) {
                send_signal('KILL', $workers[array_rand($workers)]);
            }
        }
    });
    [$granted, $denied] = $counted($store);
    // The decision of a request without a reply may or may not have been counted.
    $missing = $granted - 600 + $denied - 400 - $traffic->granted - $traffic->denied;
    check($granted - 600 >= $traffic->granted && $denied - 400 >= $traffic->denied, "$store: a reply was not counted");
    check($missing >= 0 && $missing <= $traffic->lost && $traffic->lost <= $kills, "$store: $missing of $traffic->lost");
    count($traffic->workers) > 5 || inconclusive("$store: no new worker replied");
}
echo "Done.\n";
?>
--EXPECT--
Done.

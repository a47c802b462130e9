--TEST--
Under php-fpm: workers share a bucket on a store exactly and keep one connection each
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../03_php_fpm/traffic.inc.php';

const WORKERS = 5;

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$fpm = new Fpm(['www' => ['pm.max_children' => WORKERS]]);
$status = $fpm->script('status', '<?php echo json_encode(TokenBucket\status());');
$phpinfo = $fpm->script('phpinfo', '<?php phpinfo(INFO_MODULES);');
$new = [
    'redis' => "new TokenBucketStorageRedis('redis://127.0.0.1:$redis->port/1', timeout: 5.0, onFailure: TokenBucket\OnFailure::Throw, denialCache: (bool) \$_GET['denialCache'], denialCacheMaxAge: 3600.0)",
    'memcached' => "new TokenBucketStorageMemcached('127.0.0.1:$memcached->port', timeout: 5.0, onFailure: TokenBucket\OnFailure::Throw, denialCache: (bool) \$_GET['denialCache'], denialCacheMaxAge: 3600.0)",
];
$connections = [
    'redis' => fn () => preg_match_all('/ db=1 /', $redis->command('CLIENT', 'LIST')),
    // Subtracts the connection of this query.
    'memcached' => fn () => (int) $memcached->stats()['curr_connections'] - 1,
];
$made = [
    'redis' => fn () => (int) preg_replace('/.*total_connections_received:(\d+).*/s', '$1', $redis->command('INFO', 'stats')),
    'memcached' => fn () => (int) $memcached->stats()['total_connections'],
];
foreach ($new as $kind => $storage) {
    $consume = $fpm->script($kind, str_replace('new TokenBucketStorageSharedMemory', $storage, CONSUME));
    $meet = $fpm->script("meet $kind", str_replace('new TokenBucketStorageSharedMemory', $storage, MEET));
    $idle = $connections[$kind]();
    $before = [$made[$kind](), json_decode($fpm->get($status), true)['remote']];
    foreach ([1, 0] as $denialCache) {
        $bucket = ['id' => "cached $denialCache", 'capacity' => 1250, 'denialCache' => $denialCache];
        $met = Traffic::of_each(WORKERS, $fpm->folder, fn (array $meeting) => $fpm->get($meet, $bucket + $meeting));
        $traffic = Traffic::of(8, 250, fn () => $fpm->get($consume, $bucket));
        $granted = $met->granted + $traffic->granted;
        check($granted === 1250, "$kind: $granted granted of 1250");
        check($traffic->denied === 750 + WORKERS && $traffic->lost === 0, "$kind: $traffic->denied denied, $traffic->lost lost");
    }
    $open = $connections[$kind]() - $idle;
    check($open === WORKERS, "$kind: $open connections");
    // The count includes up to five connections of the test itself.
    $count = $made[$kind]() - $before[0];
    check($count >= WORKERS && $count <= WORKERS + 5, "$kind: $count connections made");
    $after = json_decode($fpm->get($status), true)['remote'];
    $change = fn (string $name) => $after[$name] - $before[1][$name];
    check($change('asked') + $change('cached') === 4000 + 2 * WORKERS && $change('cached') > 500, json_encode($after));
    check($after['failed'] === 0, json_encode($after));
}
$stores = json_decode($fpm->get($status), true)['stores'];
check(array_column($stores, 'breaker') === ['closed', 'closed'], json_encode($stores));
check(str_contains($fpm->get($phpinfo), "redis://127.0.0.1:$redis->port/1"), 'phpinfo() names the store');

// After a reload, the old workers have closed their connections. The bucket is unchanged.
$script = "$fpm->folder/redis.php";
$fpm->reload();
check(!str_starts_with($fpm->get($script, ['id' => 'cached 0', 'capacity' => 1250, 'denialCache' => 0]), 'granted'), 'denied after a reload');
wait_for('the old workers close their connections', fn () => $connections['redis']() <= WORKERS);
foreach ($fpm->workers() as $worker) {
    send_signal('KILL', $worker);
}
wait_for('the connections of killed workers end', fn () => $connections['redis']() === 0);
$traffic = Traffic::of(4, 50, fn () => $fpm->get($script, ['id' => 'after', 'capacity' => 100, 'denialCache' => 1]));
check($traffic->granted === 100, "$traffic->granted granted after the workers were killed");
echo "done\n";
?>
--EXPECT--
done

--TEST--
LeakyBucket: eight processes are admitted exactly the limit, on each storage
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/servers.php';
require __DIR__ . '/../../tools/testkit/php/processes.php';

$servers = [RedisServer::start(), RedisServer::start()];
$memcached = MemcachedServer::startTcp();
$redis = fn (int $place) => new TokenBucketStorageRedis(
    "unix://{$servers[$place]->socket}",
    timeout: PATIENCE,
    onFailure: TokenBucket\OnFailure::Throw
);
$stores = [
    'redis' => fn () => $redis(0),
    'two servers' => fn () => [$redis(0), $redis(1)],
    'shared memory' => fn () => new TokenBucketStorageSharedMemory,
    'memcached' => fn () => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
];
foreach ($stores as $name => $storage) {
    // The period is so long that no hit leaks during the test.
    $granted = in_processes(8, function (int $index, callable $barrier) use ($storage, $name): int {
        $bucket = new TokenBucket\Compat\LeakyBucket($storage(), 1_000_000, 1000);
        $granted = 0;
        for ($chunk = 0; $chunk < 10; $chunk++) {
            $barrier();
            for ($i = 0; $i < 40; $i++) {
                $granted += $bucket->request($name, 'race') ? 1 : 0;
            }
        }
        // On memcached a call is denied after too many lost CAS races, so the test makes more
        // calls.
        for ($i = 0; $i < 500 && $name === 'memcached'; $i++) {
            $granted += $bucket->request($name, 'race') ? 1 : 0;
        }
        return $granted;
    });
    echo $name, ': ', array_sum($granted), min($granted) > 0 ? '' : ' some got nothing', "\n";
}
$bucket = new TokenBucket\Compat\LeakyBucket($redis(0), 1_000_000, 1000);
var_dump($bucket->locked()['redis-race']);
?>
--EXPECT--
redis: 1000
two servers: 1000
shared memory: 1000
memcached: 1000
int(2200)

--TEST--
RateLimiter: eight processes are allowed exactly the limit, on each storage
--EXTENSIONS--
igbinary
redis
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/servers.php';
require __DIR__ . '/../../tools/testkit/php/processes.php';

$server = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$stores = [
    'redis' => fn () => new TokenBucketStorageRedis("unix://$server->socket", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
    'shared memory' => fn () => new TokenBucketStorageSharedMemory,
    'none given' => fn () => null,
    'memcached' => fn () => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
];
foreach ($stores as $name => $storage) {
    $granted = in_processes(8, function (int $index, callable $barrier) use ($storage, $name): int {
        $limiter = new TokenBucket\Compat\RateLimiter("race on $name", 1000, 864000);
        $limiter->redis = $storage();
        $granted = 0;
        for ($chunk = 0; $chunk < 10; $chunk++) {
            $barrier();
            for ($i = 0; $i < 40; $i++) {
                $granted += $limiter->handler() ? 1 : 0;
            }
        }
        // On memcached a call is denied after too many lost CAS races, so the test makes more
        // calls.
        for ($i = 0; $i < 500 && $name === 'memcached'; $i++) {
            $granted += $limiter->handler() ? 1 : 0;
        }
        return $granted;
    });
    echo $name, ': ', array_sum($granted), min($granted) > 0 ? '' : ' some got nothing', "\n";
}
?>
--EXPECT--
redis: 1000
shared memory: 1000
none given: 1000
memcached: 1000

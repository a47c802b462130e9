--TEST--
Eight processes are granted exactly the limit, by each limiter on each storage
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/races.inc.php';

[$redis, $second] = [RedisServer::start(), RedisServer::start()];
$memcached = MemcachedServer::startTcp();
$on = fn (RedisServer $server) => new TokenBucketStorageRedis("unix://$server->socket", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw);
$storages = [
    'shared memory' => fn () => new TokenBucketStorageSharedMemory,
    'Redis' => fn () => $on($redis),
    'memcached' => fn () => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
];
$is_quick = getenv('SKIP_SLOW_TESTS') || is_slow();
foreach ($storages as $place => $storage) {
    race('MinuteWindow', $storage, $place, 250);
    race('ClientThrottle', $storage, $place, 250);
    if (!$is_quick) {
        // On memcached a call is denied after too many lost CAS races. So the test makes more
        // calls.
        race('RateLimiter', $storage, $place, $place === 'memcached' ? 900 : 400);
        race('LeakyBucket', $storage, $place, $place === 'memcached' ? 900 : 400);
    }
}
if (!$is_quick) {
    race('RateLimiter', fn () => null, 'no storage', 400);
    $locked = fn () => array_sum((new TokenBucket\Compat\LeakyBucket($on($redis), 1_000_000, LIMIT))->locked());
    check($locked() === 8 * 400 - LIMIT, 'denied on Redis: ' . $locked());
    race('LeakyBucket', fn () => [$on($redis), $on($second)], 'two servers', 400);
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
Eight processes are granted exactly the limit, by each limiter on each storage
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/limiters.inc.php';
require __DIR__ . '/../../tools/testkit/php/races.php';

/** The calls that a limiter allows. No token is refilled during the test. */
const LIMIT = 800;
// MinuteWindow counts calls by minute on these storages. Elsewhere its tokens are refilled
// continuously.
const COUNTED_BY_MINUTE = [TokenBucketStorageRedis::class, TokenBucketStorageMemcached::class];
const LONG = ['MinuteWindow' => 2.4e6, 'ClientThrottle' => 1e8, 'RateLimiter' => 800_000, 'LeakyBucket' => 8e8];

/** Checks that eight processes are granted LIMIT calls. Each process creates its own storage. */
function race(string $kind, callable $storage, string $place, int $tries): void
{
    $is_counted = $kind === 'MinuteWindow' && in_array(get_class($storage()), COUNTED_BY_MINUTE, true);
    $test = function () use ($kind, $storage, $place, $tries, $is_counted) {
        $id = uniqid();
        check_race("$kind, $place", fn () => limiter($kind, $storage(), $is_counted ? 600 : LONG[$kind], LIMIT, $id)[1], LIMIT, $tries);
    };
    $is_counted ? in_one_minute($test) : $test();
}

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

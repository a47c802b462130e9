--TEST--
Each limiter and the plain PHP that it replaces share one record and keep the limit together
--EXTENSIONS--
igbinary
redis
memcache
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/limiters.inc.php';

const LIMIT = 300;
// Seconds in which no token is refilled during the test. Plain code counts whole seconds.
const LONG = ['MinuteWindow' => 300, 'ClientThrottle' => 1e8, 'RateLimiter' => 1e8, 'LeakyBucket' => 1e9];

$server = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$settings = ['timeout' => PATIENCE, 'onFailure' => TokenBucket\OnFailure::Throw];
$on_redis = fn () => new TokenBucketStorageRedis("unix://$server->socket", 'unused:', ...$settings);
$on_memcached = fn () => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", ...$settings);
$redis = function () use ($server): Redis {
    $redis = new Redis;
    $redis->connect($server->socket);
    return $redis;
};
$throttle = fn (bool $published) => function (string $id, int $limit) use ($memcached, $published): callable {
    $plain = new PlainClientThrottle(memcache($memcached->port), $published);
    // The plain class allows a call that does not get the lock. Such calls do not count.
    return fn () => [$plain->openings, !$plain->check("throttle_$id", $limit, LONG['ClientThrottle'])] === [$plain->openings, true];
};
/**
 * By kind: the storage, the plain limiter of an identifier, and the calls that it admits beyond the
 * limit in turns and in a race, because it reads before it adds. The published throttle tests its
 * lock the wrong way round.
 */
$kinds = [
    ['RateLimiter', $on_redis, function (string $id, int $limit) use ($redis): callable {
        $client = $redis();
        return fn () => plain_rate_limiter($client, $id, $limit, (int) LONG['RateLimiter']);
    }, 0, 0],
    ['LeakyBucket', $on_redis, function (string $id, int $limit) use ($redis): callable {
        $client = $redis();
        return fn () => plain_request($client, flexihash(sets(), "$id-a"), "$id-a", $limit);
    }, 0, 4],
    ['ClientThrottle', $on_memcached, $throttle(false), 0, 0],
    ['ClientThrottle', $on_memcached, $throttle(true), 0, null],
    ['MinuteWindow', $on_memcached, function (string $id, int $limit) use ($memcached): callable {
        $plain = new PlainMinuteWindow(memcache($memcached->port), $id);
        return fn () => $plain->limitRequestsInMinutes($limit, 5);
    }, 1, 5],
];
$seed = random_int(0, PHP_INT_MAX);
mt_srand($seed);
foreach ($kinds as [$kind, $storage, $plain, $more, $more_in_a_race]) {
    $ours = fn (string $id, int $limit) => limiter($kind, $storage(), LONG[$kind], $limit, $id)[1];
    $check = function (int $limit, array $granted, int $more) use ($kind, $seed): void {
        $sum = array_sum($granted);
        check($sum >= $limit && $sum <= $limit + $more, "$kind, seed $seed: " . json_encode($granted) . " of $limit");
    };
    $test = function () use ($kind, $ours, $plain, $more, $more_in_a_race, $check): void {
        // Each continues with the record of the other, whichever is the first.
        foreach ([0, 1] as $first) {
            $id = uniqid();
            $both = [$ours($id, 20), $plain($id, 20)];
            $granted = [0, 0];
            for ($call = 0; $call < 60; $call++) {
                $side = $call < 2 ? ($call + $first) % 2 : mt_rand(0, 1);
                $granted[$side] += (int) $both[$side]();
            }
            $check(20, $granted, $more);
            check(min($granted) > 0, "$kind: both are granted calls");
        }
        if ($more_in_a_race === null) {
            return;
        }
        // All processes call at once. Ours creates the record, because two plain processes could
        // race to create it.
        $id = uniqid();
        $granted = [(int) $ours($id, LIMIT)(), ...in_processes(8, function (int $index, callable $barrier) use ($id, $ours, $plain): int {
            $call = $index % 2 ? $ours($id, LIMIT) : $plain($id, LIMIT);
            $barrier();
            return count(array_filter(range(1, 100), fn () => $call()));
        })];
        $check(LIMIT, $granted, $more_in_a_race);
    };
    $kind === 'MinuteWindow' ? in_one_minute($test) : $test();
}
echo "done\n";
?>
--EXPECT--
done

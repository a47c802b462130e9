<?php
/** Creates buckets on Redis and memcached behind a proxy that counts round trips. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Calls $test with each kind of store. */
function on_each_store(Closure $test): void
{
    $redis = RedisServer::start();
    $memcached = MemcachedServer::startTcp();
    $stores = [
        'Redis' => [new Proxy("unix://$redis->socket"), 'redis://'],
        'Memcached' => [new Proxy("tcp://127.0.0.1:$memcached->port"), ''],
    ];
    foreach ($stores as $kind => [$proxy, $scheme]) {
        $class = "TokenBucketStorage$kind";
        $address = "{$scheme}127.0.0.1:$proxy->port";
        $storage = fn (bool $denialCache = true, float $age = LASTING) => new $class($address, 'p:', PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, $age);
        $bucket = fn (string $name, int $capacity = 5, float $rate = 0.001, float $age = LASTING) => new TokenBucket($storage(age: $age), $name, $capacity, $rate);
        $asked = function (callable $call) use ($proxy): array {
            $before = $proxy->roundTrips();
            return [$call(), $proxy->roundTrips() - $before];
        };
        $is = fn (mixed $expected, mixed $found, string $what) => check($expected === $found, "$kind: $what: " . json_encode($found));
        $test($kind, $bucket, $asked, $is, $storage);
    }
    echo "done\n";
}

--TEST--
Eight processes are granted exactly the limit on Redis, Sentinel, Cluster and memcached
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/races.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

$redis = RedisServer::start();
$sentinel = SentinelServer::of($redis, 60_000);
$nodes = start_cluster();
$memcached = MemcachedServer::startUnix();
$connect = fn (string $class, string $address, bool $denialCache) => fn () => new $class(
    $address, json_encode($denialCache), PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, LASTING,
);
$limit = is_slow() ? 160 : 800;
foreach ([true, false] as $denialCache) {
    check_races('Redis', $connect(TokenBucketStorageRedis::class, "unix://$redis->socket", $denialCache), $limit);
    // A call is denied after too many lost CAS races, so there are more calls.
    check_races('memcached', $connect(TokenBucketStorageMemcached::class, "unix://$memcached->socket", $denialCache), $limit, $limit);
}
foreach ([
    "redis+sentinel://127.0.0.1:$sentinel->port/" . SentinelServer::PRIMARY, "redis+cluster://127.0.0.1:{$nodes[0]->port}",
] as $address) {
    check_race_of_windows($address, $connect(TokenBucketStorageRedis::class, $address, true), 200);
}
$remote = TokenBucket\status()['remote'];
check($remote['failed'] === 0 && $remote['cached'] > 0, json_encode($remote));
echo "done\n";
?>
--EXPECT--
done

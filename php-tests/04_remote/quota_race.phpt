--TEST--
Eight processes at the end of a quota's window get the limit of each window on Redis, Sentinel, Cluster and memcached
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/quota_race.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

$redis = RedisServer::start();
$sentinel = SentinelServer::of($redis, 60_000);
$nodes = start_cluster();
$memcached = MemcachedServer::startUnix();
$stores = [
    [TokenBucketStorageRedis::class, "unix://$redis->socket"],
    [TokenBucketStorageRedis::class, "redis+sentinel://127.0.0.1:$sentinel->port/" . SentinelServer::PRIMARY],
    [TokenBucketStorageRedis::class, "redis+cluster://127.0.0.1:{$nodes[0]->port}"],
    [TokenBucketStorageMemcached::class, "unix://$memcached->socket"],
];
foreach ($stores as [$class, $address]) {
    $connect = fn () => new $class($address, timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw);
    check_race_of_windows($address, $connect, 200);
}
echo "done\n";
?>
--EXPECT--
done

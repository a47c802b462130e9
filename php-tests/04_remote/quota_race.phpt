--TEST--
Eight processes at the end of a quota's window get the limit of each window on Redis and memcached
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/quota_race.php';

$stores = [
    TokenBucketStorageRedis::class => RedisServer::start(),
    TokenBucketStorageMemcached::class => MemcachedServer::startUnix(),
];
foreach ($stores as $class => $server) {
    $connect = fn () => new $class("unix://$server->socket", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw);
    foreach ([1, 200] as $limit) {
        check_race_of_windows("$class, $limit", $connect, $limit);
    }
}
echo "done\n";
?>
--EXPECT--
done

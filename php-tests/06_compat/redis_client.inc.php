<?php
/** Starts a Redis with a password and a user, and creates storages from its clients. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = RedisServer::start(['--requirepass', 'pa:ss@/%']);
$server->command('ACL', 'SETUSER', 'bob', 'on', '>secret', '~*', '+@all');
$storage = fn (Redis $redis) => TokenBucketStorageRedis::fromClient($redis, timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw);
$keys = function (int $database) use ($server): array {
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth('pa:ss@/%');
    $redis->select($database);
    $keys = $redis->keys('*');
    $redis->flushAll();
    return $keys;
};


/** Returns a client that is connected and authenticated as bob. */
function bob(RedisServer $server): Redis
{
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth(['user' => 'bob', 'pass' => 'secret']);
    return $redis;
}

<?php
/** Starts memcached and Redis, creates storages on these servers, and prints warnings. */
require_once __DIR__ . '/memcached_models.inc.php';

use TokenBucket\OnFailure;

$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
set_error_handler(function (int $kind, string $message) {
    if ($kind === E_DEPRECATED || !(error_reporting() & $kind)) {
        return true;
    }
    echo preg_replace('/at \S+|unix:\S+/', '…', $message), "\n";
    return true;
});
$make = fn (string $kind, OnFailure $policy) => $kind === 'memcached'
    ? new TokenBucketStorageMemcached("127.0.0.1:$server->port", onFailure: $policy, timeout: PATIENCE)
    : new TokenBucketStorageRedis("unix://$redis->socket", onFailure: $policy, timeout: PATIENCE);

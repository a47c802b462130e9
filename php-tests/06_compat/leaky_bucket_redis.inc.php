<?php
/**
 * Starts a Redis. Defines helpers that send many requests at once and avoid the end of a period.
 */
require_once __DIR__ . '/models.inc.php';

use TokenBucket\Compat\LeakyBucket;
use TokenBucket\OnFailure;

$connect = function (RedisServer $server): Redis {
    $redis = new Redis;
    $redis->connect($server->socket);
    return $redis;
};
$storage = fn (RedisServer $server, OnFailure $policy = OnFailure::Throw)
    => new TokenBucketStorageRedis("unix://$server->socket", 'unused:', 5.0, $policy);
$burst = function (LeakyBucket $bucket, string $client, string $action, int $most = 50): int {
    for ($admitted = 0; $admitted < $most && $bucket->request($client, $action); $admitted++) {
    }
    return $admitted;
};
// Waits for the next period if the current one ends within $needed seconds.
$settle = function (int $period, float $needed = 0.7): void {
    $left = $period - fmod(microtime(true), $period);
    if ($left < $needed) {
        usleep((int) ($left * 1e6) + 20_000);
    }
};

$server = RedisServer::start();
$redis = $connect($server);

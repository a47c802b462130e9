--TEST--
fromClient() and limiters reject clients that are not connected or not of type Redis
--EXTENSIONS--
igbinary
redis
--FILE--
<?php
require __DIR__ . '/redis_client.inc.php';

$redis = bob($server);
$limiter = new TokenBucket\Compat\RateLimiter('key', 3, 3600);
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new Redis)), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new stdClass)), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient('redis://localhost')), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient()), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient($redis, timeout: 0)), "\n";
$limiter->redis = new Redis;
echo thrown(fn () => $limiter->handler()), "\n";
?>
--EXPECT--
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be connected
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis or RedisCluster
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis or RedisCluster
ArgumentCountError: TokenBucketStorageRedis::fromClient() expects at least 1 argument, 0 given
ValueError: TokenBucketStorageRedis::fromClient(): Argument #3 ($timeout) must be greater than 0
ValueError: TokenBucket\Compat\RateLimiter::$redis must be connected

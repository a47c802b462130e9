--TEST--
attemptAll() of one key under two prefixes decides like one bucket
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$throw = TokenBucket\OnFailure::Throw;
$storages = [
    'Redis' => fn (string $prefix, bool $denialCache) => new TokenBucketStorageRedis("unix://$redis->socket", $prefix, PATIENCE, $throw, $denialCache, LASTING),
    'memcached' => fn (string $prefix, bool $denialCache) => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", $prefix, PATIENCE, $throw, $denialCache, LASTING),
];
foreach ($storages as $name => $make) {
    foreach ([false, true] as $denialCache) {
        $prefix = $denialCache ? 'cached:' : 'plain:';
        // The key is the prefix and the identifier, without a separator.
        $outer = new TokenBucket($make($prefix, $denialCache), 'user:1', 5, 0.001);
        $inner = new TokenBucket($make("{$prefix}user:", $denialCache), '1', 5, 0.001);
        $other = new TokenBucket($make($prefix, $denialCache), 'other', 5, 0.001);
        $outer->consume(2);
        $denied = TokenBucket::attemptAll(['other' => $other, 'outer' => $outer, 'inner' => $inner], 2);
        check(!$denied->allowed && $denied->reason === 'insufficient_tokens', "$name: both together");
        check($denied->retryAfter > 900 && $denied->refusedBy !== 'other', "$name: the key that refused: $denied->refusedBy");
        check([$outer->peek()->remaining, $other->peek()->remaining] === [3.0, 5.0], "$name: nothing was taken");
        check(TokenBucket::attemptAll([$outer, $inner])->allowed && $inner->peek()->remaining === 1.0, "$name: each takes one");

        // These two buckets of one key have different quotas, so the store decides one after the
        // other.
        $larger = new TokenBucket($make("{$prefix}user:", $denialCache), '1', 6, 0.001);
        $denied = TokenBucket::attemptAll(['larger' => $larger, 'outer' => $outer], 1);
        check(!$denied->allowed && $denied->retryAfter > 0, "$name: another quota: $denied->retryAfter");
        check($outer->peek()->remaining === 1.0, "$name: nothing was taken under another quota");
    }
    echo "$name\n";
}
?>
--EXPECT--
Redis
memcached

--TEST--
A Redis Cluster decides each bucket on the server of its key
--EXTENSIONS--
igbinary
redis
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

$servers = start_cluster();
$seed = "127.0.0.1:{$servers[2]->port}";
$fail = TokenBucket\OnFailure::Throw;
$storage = fn (string $prefix, string $options = '') => new TokenBucketStorageRedis(
    "redis+cluster://$seed/$options", $prefix, 5.0, $fail,
);
/** Returns the number of keys on each server. */
$keys = fn () => array_map(fn (RedisServer $server) => $server->command('DBSIZE'), $servers);

foreach (range(1, 60) as $user) {
    $bucket = new TokenBucket($storage('a:'), "{same}$user", 10, 0.001);
    check($bucket->attempt()->remaining === 9.0 && $bucket->peek()->remaining === 9.0, 'one token is taken');
}
check(min($keys()) > 0, 'a hash tag in an identifier selects no server');
array_map(fn (RedisServer $server) => $server->command('FLUSHALL'), $servers);
foreach (range(1, 60) as $user) {
    (new TokenBucket($storage('b:', '?hash_tags=1'), "{same}$user", 10, 0.001))->attempt();
}
$found = $keys();
sort($found);
echo 'with hash_tags: ', implode(' ', $found), "\n";

// Buckets in different slots, and buckets whose prefix has a hash tag.
foreach (['c:', 'd{tag}:'] as $prefix) {
    $buckets = [];
    foreach (['x' => 3, 'y' => 2, 'z' => 5] as $name => $capacity) {
        $buckets[$name] = new TokenBucket($storage($prefix), $name, $capacity, 0.0001);
    }
    $buckets['quota'] = new TokenBucket\Quota($storage($prefix), 'quota', 9, TokenBucket\Period::Year);
    $decisions = array_map(fn () => TokenBucket::attemptAll($buckets), range(1, 3));
    $left = array_map(fn ($bucket) => $bucket->peek()->remaining, $buckets);
    echo "$prefix ", implode(' ', array_map(fn ($decision) => $decision->refusedBy ?? 'granted', $decisions)),
        ', left ', implode(' ', $left), "\n";
}

$buckets = array_map(fn ($number) => new TokenBucket($storage('each:'), "id $number", 5, 0.0001), range(1, 30));
$allowed = array_column(TokenBucket::attemptEach($buckets), 'allowed');
check(array_filter($allowed) === array_fill(0, 30, true), 'attemptEach() asks the server of each key');

// These limiters use several keys in one command, so they refuse a cluster.
foreach (['MinuteWindow' => ['127.0.0.1'], 'LeakyBucket' => []] as $class => $arguments) {
    echo thrown(fn () => new ("TokenBucket\Compat\\$class")($storage('m:'), ...$arguments)), "\n";
}
$limiter = new TokenBucket\Compat\RateLimiter('one key', 2, 3600);
$limiter->redis = $storage('r:');
check([$limiter->handler(), $limiter->handler(), $limiter->handler()] === [true, true, false], 'one key');

$client = new RedisCluster(null, [$seed]);
$client->setOption(Redis::OPT_PREFIX, 'app:');
$copied = TokenBucketStorageRedis::fromClient($client, timeout: 5.0, onFailure: $fail);
(new TokenBucket($copied, 'bob', 10, 0.001))->attempt();
check(is_numeric($client->get('tokenbucket:bob')), 'the client reads the record under its prefix');

$secured = start_cluster(['--requirepass', 'secret']);
$client = new RedisCluster(null, ["127.0.0.1:{$secured[0]->port}"], 1, 1, false, 'secret');
echo thrown(fn () => TokenBucketStorageRedis::fromClient($client, timeout: 5.0)), "\n";
$dsn = "redis+cluster://:secret@127.0.0.1:{$secured[0]->port}";
$bucket = new TokenBucket(new TokenBucketStorageRedis($dsn, 'a:', 5.0, $fail), 'x', 10, 0.001);
check($bucket->attempt()->allowed, 'a DSN has the password');
?>
--EXPECT--
with hash_tags: 0 0 60
c: granted granted y, left 1 0 3 7
d{tag}: granted granted y, left 1 0 3 7
ValueError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must not be on a Redis Cluster or a ring
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #1 ($storage) must not be on a Redis Cluster or a ring
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have no password, or be replaced by a DSN with the password

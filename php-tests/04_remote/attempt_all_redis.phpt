--TEST--
attemptAll() is one operation on one Redis server and takes all or nothing on several stores
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$other = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$proxy = new Proxy("unix://$redis->socket");
$here = fn (string $prefix, int $database = 0, bool $denialCache = false) => new TokenBucketStorageRedis(
    "redis://127.0.0.1:$proxy->port/$database", $prefix, PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, LASTING,
);
/** Returns the number of scripts that the server has run. */
$scripts = function () use ($redis): int {
    preg_match('/cmdstat_evalsha:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $match);
    return (int) ($match[1] ?? 0);
};
$change = function (string $what, callable $call) use ($scripts, $proxy): void {
    $before = [$scripts(), $proxy->roundTrips()];
    $call();
    echo $what, ': ', $scripts() - $before[0], ' scripts in ', $proxy->roundTrips() - $before[1], " round trips\n";
};
$left = fn (TokenBucket ...$buckets) => array_map(fn ($bucket) => $bucket->peek()->remaining, $buckets);

$buckets = [
    new TokenBucket($here('a:'), 'x', 10, 0.001), new TokenBucket($here('b:'), 'x', 5, 0.003),
    new TokenBucket($here('a:'), 'y', 3, 0.0001),
];
// The first call asks whether the server is a Redis.
TokenBucket::attemptAll($buckets);
$change('granted', fn () => check(TokenBucket::attemptAll($buckets)->remaining === 1.0, 'granted'));
$change('granted again', fn () => check(TokenBucket::attemptAll($buckets)->remaining === 0.0, 'granted'));
$change('refused', function () use ($buckets) {
    $decision = TokenBucket::attemptAll($buckets);
    check(!$decision->allowed && $decision->capacity === 3.0 && $decision->retryAfter > 9000, 'refused by the third');
});
check($left(...$buckets) === [7.0, 2.0, 0.0], 'left: ' . json_encode($left(...$buckets)));
$change('one twice', function () use ($buckets) {
    check(TokenBucket::attemptAll([$buckets[0], $buckets[0], $buckets[1]], 2)->allowed, 'granted');
});
check($left(...$buckets) === [3.0, 0.0, 0.0], 'left: ' . json_encode($left(...$buckets)));
$change('one twice, of which there is one too few', function () use ($buckets) {
    check(!TokenBucket::attemptAll([$buckets[0], $buckets[0]], 2)->allowed, 'refused');
});
check($left($buckets[0]) === [3.0], 'nothing was taken');
$change('more than the capacity', fn () => check(!TokenBucket::attemptAll($buckets, 4)->allowed, 'refused'));

echo "-- a cached denial --\n";
$cached = [new TokenBucket($here('h:', 0, true), 'x', 10, 0.001), new TokenBucket($here('h:', 0, true), 'y', 1, 0.001)];
TokenBucket::attemptAll($cached);
check(!TokenBucket::attemptAll($cached)->allowed && !$cached[1]->consume(), 'refused');
$change('refused', fn () => check(!TokenBucket::attemptAll($cached)->allowed, 'refused'));
check($left($cached[0]) === [9.0], 'nothing was taken');

echo "-- other databases, servers and stores --\n";
foreach ([
    'database' => $here('a:', 3),
    'server' => new TokenBucketStorageRedis("unix://$other->socket", 'a:', 5.0, TokenBucket\OnFailure::Throw, false),
    'memcached' => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", 'a:', 5.0, TokenBucket\OnFailure::Throw, false),
    'shared memory' => new TokenBucketStorageSharedMemory,
] as $name => $storage) {
    $mixed = [new TokenBucket($here('m:'), $name, 5, 0.001), new TokenBucket($storage, 'x', 3, 0.001)];
    check(TokenBucket::attemptAll($mixed, 2)->allowed, "$name: granted");
    check(!TokenBucket::attemptAll($mixed, 2)->allowed, "$name: refused");
    check($left(...$mixed) === [3.0, 1.0], "$name: left " . json_encode($left(...$mixed)));
    check(!TokenBucket::attemptAll(array_reverse($mixed), 2)->allowed, "$name: refused");
    check($left(...$mixed) === [3.0, 1.0], "$name: left " . json_encode($left(...$mixed)));
}

echo "-- on memcached alone --\n";
$storage = new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", 'b:', 5.0, TokenBucket\OnFailure::Throw, false);
$buckets = [new TokenBucket($storage, 'x', 5, 0.001), new TokenBucket($storage, 'y', 3, 0.001)];
check(TokenBucket::attemptAll($buckets, 2)->allowed && !TokenBucket::attemptAll($buckets, 2)->allowed, 'memcached');
check($left(...$buckets) === [3.0, 1.0], 'memcached: left');
?>
--EXPECT--
granted: 1 scripts in 1 round trips
granted again: 1 scripts in 1 round trips
refused: 1 scripts in 1 round trips
one twice: 1 scripts in 1 round trips
one twice, of which there is one too few: 1 scripts in 1 round trips
more than the capacity: 1 scripts in 1 round trips
-- a cached denial --
refused: 0 scripts in 0 round trips
-- other databases, servers and stores --
-- on memcached alone --

--TEST--
fromClient() and limiters use the address, credentials, database and prefix of a connected client
--EXTENSIONS--
igbinary
redis
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/in_time.inc.php';

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

// Tests a client with a port, a password, a database and a prefix.
$redis = new Redis;
$redis->connect('127.0.0.1', $server->port);
$redis->auth('pa:ss@/%');
$redis->select(3);
$redis->setOption(Redis::OPT_PREFIX, 'app:');
$redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_IGBINARY);
$bucket = new TokenBucket($storage($redis), 'user', 10, 0.001);
check($bucket->consume(), 'a port');
check($keys(3) === ['app:tokenbucket:user'], 'the client\'s prefix stands before ours');
$own = TokenBucketStorageRedis::fromClient($redis, 'mine:', 5.0, TokenBucket\OnFailure::Throw, false, 0.5);
(new TokenBucket($own, 'user', 10, 0.001))->consume();
check($keys(3) === ['app:mine:user'], 'ours');

// Later changes of the client do not change the storage.
$kept = $storage($redis);
$redis->select(5);
$redis->close();
unset($redis);
check((new TokenBucket($kept, 'user', 10, 0.001))->consume() && $keys(3) === ['app:tokenbucket:user'], 'the client is gone');

// Tests clients with a socket, a user, and each form of credentials.
foreach ([['bob', 'secret'], ['pa:ss@/%'], 'pa:ss@/%', ['user' => 'bob', 'pass' => 'secret']] as $auth) {
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth($auth);
    check((new TokenBucket($storage($redis), 'user', 10, 0.001))->consume(), json_encode($auth));
    check($keys(0) === ['tokenbucket:user'], 'database 0');
}
$dump = print_r($storage($redis), true) . var_export((array) $storage($redis), true) . json_encode($storage($redis));
check(!str_contains($dump, 'secret') && !str_contains($dump, 'pa:ss'), $dump);

// A limiter creates its storage from the client once. The raw key of the limiter has the prefix of
// the client.
$redis->setOption(Redis::OPT_PREFIX, 'app:');
in_time(function () use ($redis) {
    $redis->flushAll();
    $limiter = new TokenBucket\Compat\RateLimiter('key', 3, 3600);
    $limiter->redis = $redis;
    check([$limiter->handler(), $limiter->handler(), $limiter->handler(), $limiter->handler()] === [true, true, true, false], 'a limiter');
    check(json_decode($redis->get('key'))->num < 1 && $limiter->redis === $redis, 'the client sees its key');
});
in_time(function () use ($server, $redis, $keys) {
    $redis->flushAll();
    $other = new Redis;
    $other->connect($server->socket);
    $other->auth(['bob', 'secret']);
    $limiter = new TokenBucket\Compat\RateLimiter('key', 3, 3600);
    $limiter->redis = $other;
    check($limiter->handler() && $keys(0) === ['key'], 'another client');
    $bucket = new TokenBucket\Compat\LeakyBucket($redis);
    check($bucket->request('127.0.0.1', 'login') && $redis->zScore('set06', '127.0.0.1-login') === 1.0, 'sets');
});

// The garbage collector frees a cycle through the client.
class Application extends Redis
{
    public $limiter;
}
$application = new Application;
$application->connect($server->socket);
$application->auth(['bob', 'secret']);
$application->limiter = new TokenBucket\Compat\RateLimiter('cycle');
$application->limiter->redis = $application;
in_time(fn () => check($application->limiter->handler(), 'a client that extends Redis'));
$gone = WeakReference::create($application->limiter);
unset($application);
gc_collect_cycles();
check($gone->get() === null, 'a cycle');

echo "-- clients that cannot be used --\n";
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
-- clients that cannot be used --
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be connected
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis or RedisCluster
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis or RedisCluster
ArgumentCountError: TokenBucketStorageRedis::fromClient() expects at least 1 argument, 0 given
ValueError: TokenBucketStorageRedis::fromClient(): Argument #3 ($timeout) must be greater than 0
ValueError: TokenBucket\Compat\RateLimiter::$redis must be connected

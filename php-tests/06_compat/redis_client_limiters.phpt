--TEST--
Limiters accept a client and use its prefix
--EXTENSIONS--
igbinary
redis
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/redis_client.inc.php';
require __DIR__ . '/in_time.inc.php';

$redis = bob($server);
// The limiter creates its storage from the client once. The raw key of the limiter has the prefix
// of the client.
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
echo "done\n";
?>
--EXPECT--
done

--TEST--
MinuteWindow allows n requests in m minutes on each storage, with counters on servers
--EXTENSIONS--
memcache
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';
date_default_timezone_set('Asia/Kathmandu');

use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateExceededException;

$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
$memcached = new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE);
$storages = [
    new TokenBucketStorageMemory,
    new TokenBucketStorageSharedMemory,
    $memcached,
    new TokenBucketStorageRedis("unix://$redis->socket", 'app:', PATIENCE),
];
foreach ($storages as $storage) {
    $name = get_class($storage);
    in_one_minute(function () use ($storage, $name) {
        $ip = uniqid();
        $window = new MinuteWindow($storage, $ip);
        check($window->limitRequestsInMinutes(3, 5) === null, "$name: nothing is returned");
        check(allows($window, 3, 5) && allows($window, 3, 5), "$name: three pass");
        try {
            $window->limitRequestsInMinutes(3, 5);
            check(false, "$name: the fourth passed");
        } catch (Exception $e) {
            check($e instanceof RateExceededException && $e->getMessage() === '' && $e->getCode() === 0, $name);
        }
        check(allows(new MinuteWindow($storage, $ip, 'other'), '3', 5.0), "$name: another prefix");
        check(!allows(clone $window, 3, 5), "$name: a clone");
        check(!allows(new MinuteWindow($storage, uniqid()), 0, 5), "$name: none is allowed");
        check(allows(new MinuteWindow($storage, uniqid()), INF, 5), "$name: all are allowed");
    });
}

// On memcached, keys have no prefix of the storage. Integers have the form that ext-memcache
// writes.
in_one_minute(function () use ($memcached, $server, $redis) {
    $ip = uniqid();
    $window = new MinuteWindow($memcached, $ip);
    allows($window, 1, 5);
    allows($window, 1, 5);
    $key = "rate$ip" . date('dHi');
    check($server->command("mg $key v f", '2') === ['VA 1 f768'], 'the counter, a denied call counted');
    $left = (int) substr($server->command("mg $key t\r\nmn", 'MN')[0], 4);
    check($left > 300 - 60 && $left <= 301, "it lives for $left seconds");
    check(memcache($server->port)->get($key) === 2, 'it is an integer');
    $calls = (int) $server->stats()['cmd_get'];
    allows($window, 1, 20);
    check((int) $server->stats()['cmd_get'] - $calls === 19, 'so many counters are read');
    // A call over fewer minutes creates a counter that expires earlier. A later call prolongs the
    // counter.
    $ip = uniqid();
    allows(new MinuteWindow($memcached, $ip), 5, 1);
    allows(new MinuteWindow($memcached, $ip), 5, 9);
    $left = (int) substr($server->command("mg rate$ip" . date('dHi') . " t\r\nmn", 'MN')[0], 4);
    check($left > 470 && $left <= 551, "it lives on for $left seconds");

    $ip = uniqid();
    $window = new MinuteWindow(new TokenBucketStorageRedis("unix://$redis->socket", 'app:', PATIENCE), $ip, 'r');
    allows($window, 1, 5);
    allows($window, 1, 5);
    $key = "app:r$ip" . date('dHi');
    check($redis->command('GET', $key) === '2', 'the counter on Redis');
    $left = $redis->command('TTL', $key);
    check($left > 300 - 60 && $left <= 302, "lives as long: $left");
});

// Keys with bytes that ext-memcache cannot send are changed. Keys that ext-memcache would cut are
// hashed.
in_one_minute(function () use ($memcached, $server) {
    $ip = "a b\nc" . uniqid();
    allows(new MinuteWindow($memcached, $ip), 1, 1);
    check(memcache($server->port)->get("rate$ip" . date('dHi')) === 1, 'a mangled key');
    $long = str_repeat('x', 300) . uniqid();
    check(allows(new MinuteWindow($memcached, "{$long}1"), 1, 1), 'a long key');
    check(allows(new MinuteWindow($memcached, "{$long}2"), 1, 1), 'another long key');
    check(!allows(new MinuteWindow($memcached, "{$long}2"), 1, 1), 'the same long key');
});
// On other storages, two pairs of prefix and address never share a bucket, even if the joined texts
// are equal.
$storage = new TokenBucketStorageMemory;
var_dump(allows(new MinuteWindow($storage, '11', 'rate'), 1, 1), allows(new MinuteWindow($storage, '1', 'rate1'), 1, 1));

// A long window reads more counters than fit into one write to the socket.
in_one_minute(function () use ($memcached, $server) {
    $ip = uniqid();
    memcache($server->port)->set("rate$ip" . date('dHi', time() - 1300 * 60), 7, 0, 100);
    $window = new MinuteWindow($memcached, $ip);
    check(!allows($window, 7, 1301) && allows($window, 9, 1301) && allows($window, 3, 1300), 'many minutes');
});
echo "done\n";
?>
--EXPECT--
bool(true)
bool(true)
done

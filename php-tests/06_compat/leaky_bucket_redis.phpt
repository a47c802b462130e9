--TEST--
LeakyBucket on Redis: its sets, clean-ups, several servers, who was denied, what is no set, and a server that is down
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../servers.inc.php';
require __DIR__ . '/models.inc.php';
require __DIR__ . '/plain.inc.php';

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
// Not over the end of a period.
$settle = function (int $period, float $needed = 0.7): void {
    $left = $period - fmod(microtime(true), $period);
    if ($left < $needed) {
        usleep((int) ($left * 1e6) + 20_000);
    }
};

$server = RedisServer::start();
$redis = $connect($server);
$settle(86400);
$bucket = new LeakyBucket($storage($server), 86400);
check($burst($bucket, '1.2.3.4', 'search') === 6, 'six');
check($redis->zScore('set03', '1.2.3.4-search') === 6.0 && $redis->zScore('set03:control', '1.2.3.4-search') === -1.0, 'the records');
check($redis->zScore('locked', '1.2.3.4-search') === 1.0, 'a denial is counted');
$before = $redis->dump('set03') . $redis->dump('set03:control');
check(!$bucket->request('1.2.3.4', 'search') && $redis->zScore('locked', '1.2.3.4-search') === 2.0, 'another');
check($redis->dump('set03') . $redis->dump('set03:control') === $before, 'and nothing else is written');
$bucket->bucket('login', 86400, 2);
check($burst($bucket, '127.0.0.1', 'login') === 2 && $redis->zScore('login:set06', '127.0.0.1-login') === 2.0, 'sets of its own');
$keys = $redis->keys('*');
sort($keys);
check($keys === ['locked', 'login:set06', 'login:set06:control', 'set03', 'set03:control'], implode(' ', $keys));
check($bucket->locked() === ['1.2.3.4-search' => 2, '127.0.0.1-login' => 1], 'who was denied');
check($bucket->locked(1) === ['1.2.3.4-search' => 2], 'who was denied most');
$bucket->request('a-b', 'c-d');
check(in_array('a-b-c%2Dd', $redis->zRange(flexihash(sets(), 'a-b-c%2Dd'), 0, -1), true), 'an action with a dash');

// A dry run counts who would be denied, and denies nobody.
$redis->flushAll();
$dry = new LeakyBucket($storage($server), 86400, 6, dryRun: true);
check($burst($dry, 'x', 'y', 50) === 50, 'a dry run');
check($dry->locked() === ['x-y' => 44], 'it counts');
$set = flexihash(sets(), 'x-y');
check($redis->zScore($set, 'x-y') === 6.0, 'as many hits as would have been admitted');
check(!(new LeakyBucket($storage($server), 86400))->request('x', 'y'), 'in earnest');

// The count is bounded, and keeps the worst.
$redis->del('locked');
$pipe = $redis->pipeline();
for ($i = 0; $i < 11_000; $i++) {
    $pipe->zAdd('locked', 2 + $i, "client $i-x");
}
$pipe->exec();
$dry->request('x', 'y');
check($redis->zCard('locked') === 10_000, 'cut: ' . $redis->zCard('locked'));
check($dry->locked(2) === ['client 10999-x' => 11_001, 'client 10998-x' => 11_000], 'the worst are kept');
check($redis->zScore('locked', 'client 999-x') === false && $redis->zScore('locked', 'client 1000-x') === 1002.0, 'the least go');
check(count($dry->locked(PHP_INT_MAX)) === 10_000, 'all');

// Leaks: in its own time, however often it is asked.
$redis->flushAll();
$bucket = new LeakyBucket($storage($server), 2, 3);
$set = flexihash(sets(), 'x-y');
$settle(2);
check($burst($bucket, 'x', 'y') === 3, 'three');
for ($i = 0; $i < 5; $i++) {
    $bucket->cleanup();
    check($redis->zScore($set, 'x-y') === 3.0, 'nothing is due');
}
$settle(2, 2);
$bucket->cleanup();
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0, 'one');
check($burst($bucket, 'x', 'y') === 1, 'one is admitted');
$settle(2, 2);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'one in the next');
usleep(4_100_000);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === false && $redis->zScore("$set:control", 'x-y') === false, 'two in the next two: all are gone');
check($burst($bucket, 'x', 'y') === 3, 'three again');
// A lost control takes no hits with it.
$redis->del("$set:control");
$settle(2, 2);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'a lost control');

// What is no sorted set is left alone.
foreach ([$set, "$set:control"] as $key) {
    $redis->flushAll();
    $bucket = new LeakyBucket($storage($server), 86400, 2);
    check($bucket->request('x', 'y'), 'a first');
    $redis->del($key);
    $redis->set($key, 'foreign');
    $hits = $key === $set ? false : $redis->zScore($set, 'x-y');
    $said = thrown(fn () => $bucket->request('x', 'y'));
    check(str_ends_with($said, 'the key of this bucket holds something else'), "$key: $said");
    foreach ([[OnFailure::Deny, 0], [OnFailure::Allow, 5]] as [$policy, $expected]) {
        $admitted = @$burst(new LeakyBucket($storage($server, $policy), 86400, 2), 'x', 'y', 5);
        check($admitted === $expected, "$key, $policy->name: $admitted");
    }
    check($redis->get($key) === 'foreign', "left alone: $key");
    check($key === $set || $redis->zScore($set, 'x-y') === $hits, "no hit is counted: $key");
}
$redis->flushAll();
$redis->set('locked', 'foreign');
$bucket = new LeakyBucket($storage($server), 86400, 2);
check($burst($bucket, 'x', 'y') === 2 && !$bucket->request('x', 'y'), 'what cannot be counted is denied');
check(str_ends_with(thrown(fn () => $bucket->locked()), 'something else') && $redis->get('locked') === 'foreign', 'and it is said where it matters');
$redis->flushAll();
$redis->zAdd('set03', INF, '1.2.3.4-search');
check(!(new LeakyBucket($storage($server)))->request('1.2.3.4', 'search') && $redis->zScore('set03', '1.2.3.4-search') === INF, 'no end');

// Several servers: set number n on number n modulo their count.
$servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
$clients = array_map($connect, $servers);
$bucket = new LeakyBucket([$storage($servers[0]), $clients[1], $storage($servers[2])], 86400, 1);
$expected = [];
foreach (sets() as $i => $set) {
    for ($client = 0; flexihash(sets(), "$client-x") !== $set; $client++) {
    }
    for ($n = 0; $n < $i + 2; $n++) {
        $bucket->request($client, 'x');
    }
    foreach ($clients as $place => $redis) {
        check($redis->exists($set) === ($i % 3 === $place ? 1 : 0), "$set on $place");
    }
    $expected["$client-x"] = $i + 1;
}
arsort($expected);
check($bucket->locked() === $expected, json_encode($bucket->locked()));
check(array_values($bucket->locked(3)) === [10, 9, 8], 'the three worst of all');
$bucket->cleanup();
$servers[1]->kill();
check(array_values(@$bucket->locked(3)) === [10, 9, 7], 'one is down, whose policy is to go on');

// A server that is down.
$server->kill();
foreach ([[OnFailure::Deny, 0], [OnFailure::Allow, 20], [OnFailure::Local, 4]] as [$policy, $expected]) {
    $bucket = new LeakyBucket($storage($server, $policy), 86400, 4);
    check(@$burst($bucket, 'down', 'x', 20) === $expected, "$policy->name");
    check(@$bucket->locked() === [] && @$bucket->cleanup() === null, "$policy->name: nothing is known");
}
check(str_contains(thrown(fn () => (new LeakyBucket($storage($server)))->request('x', 'y')), 'StorageException'), 'thrown');
echo "done\n";
?>
--EXPECT--
done

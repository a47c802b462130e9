--TEST--
LeakyBucket on Redis keeps hits and denials in sorted sets, on several servers, also while one is down
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/models.inc.php';

use TokenBucket\Compat\LeakyBucket;
use TokenBucket\OnFailure;

$connect = function (RedisServer $server): Redis {
    $redis = new Redis;
    $redis->connect($server->socket);
    return $redis;
};
$storage = fn (RedisServer $server) => new TokenBucketStorageRedis("unix://$server->socket", 'unused:', 5.0, OnFailure::Throw);
$burst = function (LeakyBucket $bucket, string $client, string $action, int $most = 50): int {
    for ($admitted = 0; $admitted < $most && $bucket->request($client, $action); $admitted++) {
    }
    return $admitted;
};

$server = RedisServer::start();
$redis = $connect($server);

echo "-- LeakyBucket on Redis keeps hits and denials in sorted sets --\n";
// Hits leak at midnight, so the test waits for it if less than a second is left.
$left = 86400 - fmod(microtime(true), 86400);
$left > 1 || usleep((int) ($left * 1e6) + 20_000);
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

echo "-- A dry run of LeakyBucket counts denials and denies nothing --\n";
$redis->flushAll();
$dry = new LeakyBucket($storage($server), 86400, 6, dryRun: true);
check($burst($dry, 'x', 'y', 50) === 50, 'a dry run');
check($dry->locked() === ['x-y' => 44], 'it counts');
$set = flexihash(sets(), 'x-y');
check($redis->zScore($set, 'x-y') === 6.0, 'as many hits as would have been admitted');
check(!(new LeakyBucket($storage($server), 86400))->request('x', 'y'), 'in earnest');

echo "-- LeakyBucket keeps the ten thousand clients with the most denials --\n";
$dry = new LeakyBucket($storage($server), 86400, 6, dryRun: true);
$burst($dry, 'x', 'y', 50);
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

echo "-- a foreign key \"locked\", and a score without an end --\n";
$redis->flushAll();
$redis->set('locked', 'foreign');
$bucket = new LeakyBucket($storage($server), 86400, 2);
check($burst($bucket, 'x', 'y') === 2 && !$bucket->request('x', 'y'), 'a denial that cannot be counted');
check(str_ends_with(thrown(fn () => $bucket->locked()), 'record of this limiter') && $redis->get('locked') === 'foreign', 'locked()');
$redis->flushAll();
$redis->zAdd('set03', INF, '1.2.3.4-search');
check(!(new LeakyBucket($storage($server)))->request('1.2.3.4', 'search') && $redis->zScore('set03', '1.2.3.4-search') === INF, 'no end');

echo "-- LeakyBucket spreads its sets over several servers and works while one is down --\n";
// With several servers, set number n is on server n modulo the number of servers.
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
echo "done\n";
?>
--EXPECT--
-- LeakyBucket on Redis keeps hits and denials in sorted sets --
-- A dry run of LeakyBucket counts denials and denies nothing --
-- LeakyBucket keeps the ten thousand clients with the most denials --
-- a foreign key "locked", and a score without an end --
-- LeakyBucket spreads its sets over several servers and works while one is down --
done

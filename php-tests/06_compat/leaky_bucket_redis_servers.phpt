--TEST--
LeakyBucket spreads its sets over several servers and works while one is down
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;

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
done

--TEST--
Storage contract: Redis with a denial cache, and two memcached servers without
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/contract.php';

use TokenBucket\OnFailure;

$sleep = fn (float $seconds) => usleep((int) ceil($seconds * 1e6));
$redis = RedisServer::start();
$storage = new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port/1", 'x:', PATIENCE, OnFailure::Throw, true, LASTING);
(new Contract('redis', $storage, $sleep))->check();
$tcp = MemcachedServer::startTcp();
$unix = MemcachedServer::startUnix();
$servers = ["unix://$unix->socket", "127.0.0.1:$tcp->port"];
(new Contract('memcached', new TokenBucketStorageMemcached($servers, 'x:', PATIENCE, OnFailure::Throw, false), $sleep))->check();

preg_match('/^db1:keys=(\d+),expires=(\d+)/m', $redis->command('INFO', 'keyspace'), $match);
check($match[1] >= 40 && $match[1] === $match[2], "all buckets expire: $match[0]");
foreach ([$tcp, $unix] as $server) {
    // With 160 points each, a server has a share of 0.5 ± 0.04 of all keys. So the probability that
    // it has none of 40 buckets is below 1e-9.
    check($server->stats()['curr_items'] > 0, 'both servers hold buckets');
    check($server->stats()['total_connections'] < 20, 'connections are kept');
}
$status = TokenBucket\status()['remote'];
check($status['cached'] > 5 && $status['failed'] === 0, json_encode($status));
echo "done\n";
?>
--EXPECT--
done

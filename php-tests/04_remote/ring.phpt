--TEST--
A ring of Redis servers keeps each bucket on one of them, and an outage fails only its keys
--EXTENSIONS--
igbinary
msgpack
memcached
redis
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/servers.php';

use TokenBucket\Decision;
use TokenBucket\OnFailure;

/** @var list<RedisServer> $servers */
$servers = array_map(fn () => RedisServer::start(), range(1, 3));
$hosts = implode(',', array_map(fn (RedisServer $server) => "127.0.0.1:$server->port", $servers));
$storage = fn (OnFailure $policy = OnFailure::Throw, string $options = '') => new TokenBucketStorageRedis("redis+ring://$hosts/1$options", 'r:', 5.0, $policy);
/** Returns the numbers of keys on the servers. */
$keys = fn (): array => array_map(fn (RedisServer $server) => (int) preg_match_all('/db1:keys=(\d+)/', $server->command('INFO', 'keyspace'), $found) ? (int) $found[1][0] : 0, $servers);

$all = array_map(fn (int $user) => new TokenBucket($storage(), "user $user", 5, 0.0001), range(1, 60));
foreach ($all as $bucket) {
    check(array_map(fn () => $bucket->consume(), range(1, 6)) === [true, true, true, true, true, false], 'exactly five');
}
check(array_sum($keys()) === 60 && min($keys()) > 5, 'each bucket is on one server, and each server has some');

$memcached = new Memcached();
$memcached->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
foreach ($servers as $server) {
    $memcached->addServer('127.0.0.1', $server->port);
}
foreach (range(1, 60) as $user) {
    $expected = $memcached->getServerByKey("r:user $user")['port'] ?? null;
    $found = array_filter($servers, fn (RedisServer $server) => $server->command('EVAL', "redis.call('SELECT', 1) return redis.call('EXISTS', KEYS[1])", '1', "r:user $user") === 1);
    check(array_column($found, 'port') === [$expected], 'keys are where ketama of libmemcached puts them');
}

// Buckets on several servers: all or none.
$pair = fn (string $name) => [new TokenBucket($storage(), "$name a", 3, 0.0001), new TokenBucket($storage(), "$name b", 2, 0.0001)];
foreach (range(1, 20) as $n) {
    [$a, $b] = $pair("pair $n");
    $decisions = array_map(fn () => TokenBucket::attemptAll([$a, $b])->allowed, range(1, 4));
    check($decisions === [true, true, false, false] && $a->peek()->remaining === 1.0, 'all or none');
}
check(array_column(TokenBucket::attemptEach($all), 'allowed') === array_fill(0, 60, false), 'attemptEach() asks the server of each key');

$limit = new TokenBucket\ConcurrencyLimit($storage(), 'jobs', 1, 60.0);
$permit = $limit->acquire();
check(!$limit->acquire()->decision->allowed, 'a permit is on one server');
$lockout = new TokenBucket\Lockout($storage(), 'alice', 1, 60.0);
check($lockout->attempt()->allowed && !$lockout->attempt()->allowed, 'a lockout, too');

$permit->release();
ini_set('error_log', '/dev/null');
$servers[0]->kill();
$fresh = fn (OnFailure $policy) => array_map(fn (int $user) => (new TokenBucket($storage($policy), "new $user", 5, 0.0001))->attempt(), range(1, 60));
$failed = array_filter($fresh(OnFailure::Deny), fn (Decision $decision) => $decision->reason === 'unavailable');
check(count($failed) > 5 && count($failed) < 40, 'only the keys of the dead server fail');
$states = array_filter(TokenBucket\status()['stores'], fn (array $store) => str_contains($store['name'], (string) $servers[0]->port));
check(count($states) === 1, 'the server has a breaker of its own');

foreach (['a,a', 'a,b?weights=1', 'a,b?weights=0,1', 'a,b?weights=x,1', 'a/x', 'a,b?hash_tags=1'] as $wrong) {
    echo preg_replace('/.*must /', '', thrown(fn () => new TokenBucketStorageRedis("redis+ring://$wrong"))), "\n";
}
echo thrown(fn () => new TokenBucket\Compat\MinuteWindow($storage(), '127.0.0.1')), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new RedisArray(["127.0.0.1:{$servers[1]->port}"]))), "\n";
var_dump(str_contains(print_r($storage(options: '?weights=3,1,1'), true), '?weights=3,1,1'));
?>
--EXPECT--
name each server of a ring once
have a weight from 1 to 65535 for each server as its weights option
have a weight from 1 to 65535 for each server as its weights option
have a weight from 1 to 65535 for each server as its weights option
have a database between 0 and 2147483647
have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, user and password with unix://; sentinel_user and sentinel_password with sentinels; hash_tags with a cluster; one_server with a single server; weights with a ring
ValueError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must not be on a Redis Cluster or a ring
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis or RedisCluster. A RedisArray places keys in other ways, so use a DSN that begins with redis+ring://
bool(true)

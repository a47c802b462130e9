--TEST--
ConcurrencyLimit on a Redis Cluster and with Sentinel: the server of the key keeps the permits
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

use TokenBucket\ConcurrencyLimit;
use TokenBucket\OnFailure;

$take = function (string $dsn, array $names): array {
    $storage = new TokenBucketStorageRedis($dsn, 'a:', PATIENCE, OnFailure::Throw);
    foreach ($names as $name) {
        $limit = new ConcurrencyLimit($storage, $name, 2);
        $mine = [$limit->acquire(), $limit->acquire()];
        check($limit->acquire()->decision->reason === 'too_many_concurrent' && $limit->held() === 2, "$name: two permits");
        $mine[0]->release();
        check($mine[1]->renew() && !$mine[0]->renew() && $limit->held() === 1, "$name: one permit");
        $permits[] = $mine;
    }
    return $permits;
};
$servers = start_cluster();
$sets = fn () => array_map(fn (RedisServer $server) => $server->command('DBSIZE'), $servers);
$names = array_map(fn (int $user) => "{same}$user", range(1, 40));
$permits = $take("redis+cluster://127.0.0.1:{$servers[1]->port}", $names);
print_values(array_sum($sets()), min($sets()) > 0);
unset($permits);
print_values(array_sum($sets()));
// With hash tags, all identifiers are on one server.
$permits = $take("redis+cluster://127.0.0.1:{$servers[1]->port}/?hash_tags=1", $names);
print_values(array_sum($sets()), max($sets()));
$servers[0]->kill();
$servers[1]->kill();
$servers[2]->kill();
// Releasing the permits causes no error, although no server runs.
unset($permits);

$primary = RedisServer::start();
$sentinel = SentinelServer::of($primary, 60_000);
$permits = $take("redis+sentinel://127.0.0.1:$sentinel->port/" . SentinelServer::PRIMARY, ['x', 'y']);
print_values($primary->command('DBSIZE'));
unset($permits);
print_values($primary->command('DBSIZE'));
?>
--EXPECT--
40 true
0
40 40
2
0

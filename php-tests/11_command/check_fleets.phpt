--TEST--
The command tokenbucket checks a Redis Cluster, a ring, and the primary that sentinels know
--FILE--
<?php
require __DIR__ . '/check.inc.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

$servers = start_cluster(['--appendonly', 'yes']);
$dsn = 'redis+cluster://' . implode(',', array_map(fn (RedisServer $server) => "127.0.0.1:$server->port", $servers));
echo implode(' ', array_keys(faults('a cluster', $dsn))), "\n";
foreach ($servers as $server) {
    check($server->command('KEYS', '*') === [], 'nothing is left');
}
faults('a cluster without its scheme', "redis://127.0.0.1:{$servers[0]->port}");
$servers[2]->kill();
// The keys of the other probes may be on this server.
$found = faults('a server that is down', $dsn, only: ['slots', 'servers']);
echo preg_replace('/\d{4,}/', 'N', $found['servers']['found']), "\n";
$servers[0]->command('CLUSTER', 'DELSLOTS', '7', '8');
echo faults('slots without a server', $dsn)['slots']['found'], "\n";

$ring = array_map(fn () => RedisServer::start(['--appendonly', 'yes']), range(1, 2));
$dsn = 'redis+ring://' . implode(',', array_map(fn (RedisServer $server) => "127.0.0.1:$server->port", $ring));
echo implode(' ', array_keys(faults('a ring', $dsn))), "\n";
foreach ($ring as $server) {
    check($server->command('KEYS', '*') === [], 'nothing is left');
}
$ring[1]->kill();
faults('a ring without one of its servers', $dsn, only: ['servers']);

$single = RedisServer::start(['--appendonly', 'yes']);
faults('no cluster', "redis+cluster://127.0.0.1:$single->port");

$sentinels = [SentinelServer::of($single, 60_000), SentinelServer::of($single, 60_000)];
$list = implode(',', array_map(fn (SentinelServer $server) => "127.0.0.1:$server->port", $sentinels));
echo implode(' ', array_keys(faults('sentinels', "redis+sentinel://$list/mymaster"))), "\n";
check($single->command('KEYS', '*') === [], 'nothing is left');
echo faults('another name', "redis+sentinel://$list/other")['sentinels']['found'], "\n";
$sentinels[1]->kill();
faults('one of two sentinels', "redis+sentinel://$list/mymaster");
$sentinels[0]->kill();
faults('no sentinel', "redis+sentinel://$list/mymaster");
?>
--EXPECT--
a cluster: all ok, status 0
slots servers server latency rights scripts time clock expiry bucket permits memory persistence clients
a cluster without its scheme: failure server, status 1
a server that is down: failure servers, status 1
127.0.0.1:N: cannot connect: Connection refused (os error 111)
slots without a server: failure slots, status 1
no server has the slots 7-8
a ring: all ok, status 0
servers server latency rights scripts time clock expiry bucket permits proxy memory persistence clients
a ring without one of its servers: failure servers, status 1
no cluster: failure slots, status 1
sentinels: all ok, status 0
sentinels server latency rights scripts time clock expiry bucket permits proxy memory persistence clients
another name: failure sentinels, status 1
the sentinels do not know other
one of two sentinels: warning sentinels, status 0
no sentinel: failure sentinels, status 1

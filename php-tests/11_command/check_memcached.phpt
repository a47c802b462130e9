--TEST--
The command tokenbucket checks memcached servers, and leaves nothing on them
--FILE--
<?php
require __DIR__ . '/check.inc.php';

$server = MemcachedServer::startTcp(['-m', '2', '-c', '200']);
$address = "127.0.0.1:$server->port";
$left = fn (MemcachedServer $server): int => (int) $server->stats()['curr_items'];

$found = faults('a server', "memcached://$address");
echo implode(' ', array_keys($found)), "\n", preg_replace('/\d+/', 'N', $found['memory']['found']), ", {$left($server)} items left\n";
faults('a socket', 'memcached://unix://' . ($socket = MemcachedServer::startUnix())->socket);
check($left($socket) === 0, 'nothing is left');
faults('a timeout that no server meets', "memcached:$address", '--timeout=0.0000001', '');
faults('too many workers', "memcached:$address", '--pool=201');
faults('as many as it accepts', "memcached:$address", '--pool=200');
$other = MemcachedServer::startTcp(['-C']);
faults('without versions', "memcached://127.0.0.1:$other->port");
// The key of the bucket may be on either server.
$found = faults('one of two without versions', "memcached://$address,127.0.0.1:$other->port?weight=2", only: ['cas']);
echo preg_replace('/\d+/', 'N', $found['cas']['found']), "\n";
$stream = stream_socket_client("tcp://$address");
for ($i = 0; $i < 400; $i++) {
    fwrite($stream, "set k$i 0 60 20000\r\n" . str_repeat('x', 20_000) . "\r\n");
    fgets($stream);
}
check($server->stats()['evictions'] > 0, 'items were evicted');
faults('evictions', "memcached://$address");
$redis = RedisServer::start();
faults('no memcached', "memcached://127.0.0.1:$redis->port");
$server->signal('STOP');
faults('a server that hangs', "memcached://$address", '', '--deadline=1');
$server->kill();
echo preg_replace('/\d+/', 'N', faults('a server that is down', "memcached://$address")['server']['found']), "\n";
echo run_check('memcached://a,,b'), run_check('--prefix=' . escapeshellarg("a\nb") . ' memcached:a');
?>
--EXPECT--
a server: all ok, status 0
server latency cas bucket clock memory clients
N of N bytes used, N evictions, 0 items left
a socket: all ok, status 0
a timeout that no server meets: failure latency, status 1
too many workers: failure clients, status 1
as many as it accepts: warning clients, status 0
without versions: failure cas, failure bucket, status 1
one of two without versions: failure cas, status 1
N.N.N.N:N: an item has no version: HD cN
evictions: warning memory, status 0
no memcached: failure server, status 1
a server that hangs: failure server, status 1
a server that is down: failure server, status 1
N.N.N.N:N: cannot connect: Connection refused
tokenbucket: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must name a host for each server
status 2
tokenbucket: --prefix must be at most 200 printable characters of ASCII
Try: tokenbucket help
status 2

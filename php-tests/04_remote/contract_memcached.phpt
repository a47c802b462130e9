--TEST--
Storage contract: memcached over TCP and Unix sockets, with and without a denial cache
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/contract.php';

$sleep = fn (float $seconds) => usleep((int) ceil($seconds * 1e6));
$tcp = MemcachedServer::startTcp();
$unix = MemcachedServer::startUnix();
$lists = [
    'tcp' => "127.0.0.1:$tcp->port",
    'unix' => "unix://$unix->socket",
    'both' => ["unix://$unix->socket?weight=2", "127.0.0.1:$tcp->port"],
    'both in a string' => "unix://$unix->socket,127.0.0.1:$tcp->port",
];
foreach ($lists as $name => $servers) {
    foreach ([true, false] as $denialCache) {
        $storage = new TokenBucketStorageMemcached($servers, "$name " . json_encode($denialCache) . ':', PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, LASTING);
        (new Contract("$name, denial cache " . json_encode($denialCache), $storage, $sleep))->check();
    }
}
$status = TokenBucket\status()['remote'];
check($status['asked'] > 1000 && $status['cached'] > 50 && $status['failed'] === 0, json_encode($status));
foreach ([$tcp, $unix] as $server) {
    check($server->stats()['curr_items'] > 100, 'both servers hold buckets');
    check($server->stats()['total_connections'] < 20, 'connections are kept');
}
echo "done\n";
?>
--EXPECT--
done

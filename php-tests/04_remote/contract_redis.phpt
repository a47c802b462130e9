--TEST--
Storage contract: Redis over TCP, a Unix socket and TLS, with and without a denial cache
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/contract.php';
require __DIR__ . '/tls.inc.php';

$sleep = fn (float $seconds) => usleep((int) ceil($seconds * 1e6));
$tls = new TlsRedis;
$redis = $tls->server;
$dsns = [
    'tcp' => "redis://127.0.0.1:$redis->port/1",
    'unix' => "unix://$redis->socket?db=2",
];
// Skips TLS under valgrind, which reports the output of the cipher's assembly code as
// uninitialised.
if (!is_slow()) {
    $dsns['tls'] = $tls->dsn();
}
foreach ($dsns as $name => $dsn) {
    foreach ([true, false] as $denialCache) {
        $storage = new TokenBucketStorageRedis($dsn, "$name " . json_encode($denialCache) . ':', PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, LASTING);
        (new Contract("$name, denial cache " . json_encode($denialCache), $storage, $sleep))->check();
    }
}

echo "-- each storage uses its own database, and all buckets expire --\n";
$keys = array_filter(explode("\r\n", $redis->command('INFO', 'keyspace')), fn ($line) => preg_match('/^db[12]/', $line));
foreach ($keys as $line) {
    preg_match('/^(db\d):keys=(\d+),expires=(\d+)/', $line, $match);
    echo $match[1], ' ', $match[2] >= 90 && $match[2] === $match[3] ? 'all expire' : $line, "\n";
}
$status = TokenBucket\status()['remote'];
check($status['asked'] > 1000 && $status['cached'] > 50 && $status['failed'] === 0, json_encode($status));
?>
--EXPECT--
-- each storage uses its own database, and all buckets expire --
db1 all expire
db2 all expire

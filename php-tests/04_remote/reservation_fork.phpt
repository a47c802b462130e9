--TEST--
A reservation is given back by the process that made it, and not by forked children
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$throw = TokenBucket\OnFailure::Throw;
$storages = [
    'shared memory' => new TokenBucketStorageSharedMemory,
    'Redis' => new TokenBucketStorageRedis("unix://$redis->socket", '', PATIENCE, $throw),
    'memcached' => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", '', PATIENCE, $throw),
    // This server is down, so the fallback in shared memory holds the reservation.
    'fallback' => new TokenBucketStorageRedis('redis://127.0.0.1:1', 'fallback:', 0.1, TokenBucket\OnFailure::Local),
];
$servers = sql_servers();
foreach ($servers as $driver => $server) {
    $storages[$driver] = new TokenBucketStoragePDO($server->connect(), 'limits');
    $storages[$driver]->prepare();
}
foreach ($storages as $name => $storage) {
    $bucket = new TokenBucket($storage, 'forked', 10, 0.001);
    $bucket->consume(6);
    $reservation = $bucket->reserve(2);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $reservation->cancel();
        // Kills the child, so that the destructors of the parent's connections do not run in it.
        send_signal('KILL', getmypid());
        sleep(60);
    }
    pcntl_waitpid($pid, $status);
    check($bucket->peek()->remaining === 2.0, "$name: after the child's cancel: {$bucket->peek()->remaining}");
    $reservation->cancel();
    check($bucket->peek()->remaining === 4.0, "$name: after both: {$bucket->peek()->remaining}");
}

echo "-- memory of one process: each process has its own copy --\n";
$bucket = new TokenBucket(new TokenBucketStorageMemory, 'forked', 10, 0.001);
$bucket->consume(6);
$reservation = $bucket->reserve(2);
$child = function () use ($bucket, $reservation): float {
    $reservation->cancel();
    return $bucket->peek()->remaining;
};
var_dump(in_processes(1, $child)[0], $child());
?>
--EXPECTF--
%A-- memory of one process: each process has its own copy --
int(4)
float(4)

--TEST--
An interrupted wait() cancels, and reports the bucket as it is at the end of the wait
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
$sql = sql_servers();
$storages = [
    'shared memory' => fn () => new TokenBucketStorageSharedMemory,
    'Redis' => fn () => new TokenBucketStorageRedis("unix://$redis->socket", '', PATIENCE, $throw),
    'memcached' => fn () => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", '', PATIENCE, $throw),
];
foreach ($sql as $driver => $server) {
    $storages[$driver] = fn () => new TokenBucketStoragePDO($server->connect(), 'limits');
    $storages[$driver]()->prepare();
}
/** The number of the system call ppoll(). */
define('PPOLL', php_uname('m') === 'aarch64' ? 73 : 271);
pcntl_async_signals(true);
pcntl_signal(SIGALRM, fn () => null);
/**
 * Returns the decision of a wait for two tokens. Another process calls $meanwhile with the bucket,
 * after the tokens were reserved, and then interrupts the wait.
 */
$interrupted = function (Closure $make, Closure $meanwhile): TokenBucket\Decision {
    $bucket = $make();
    $waiter = getmypid();
    if (($pid = pcntl_fork()) === 0) {
        $mine = $make();
        // Waits until the process sleeps, which means that it is in ppoll() without descriptors. If
        // the handler threw earlier, it would end the statement that reserves, and the tokens would
        // be lost. Some systems hide /proc/PID/syscall. There the test assumes that the process
        // sleeps.
        $sleeps = fn () => str_starts_with(@file_get_contents("/proc/$waiter/syscall") ?: PPOLL . ' 0x0 0x0 ', PPOLL . ' 0x0 0x0 ');
        while ($mine->peek(0)->remaining >= 0 || !$sleeps()) {
            usleep(1_000);
        }
        $meanwhile($mine);
        // A signal that arrives before the sleep does not end it, so several are sent.
        while (true) {
            send_signal('ALRM', $waiter);
            usleep(50_000);
        }
    }
    try {
        return $bucket->wait(1e6, 2);
    } finally {
        send_signal('KILL', $pid);
        pcntl_waitpid($pid, $status);
    }
};
foreach ($storages as $name => $storage) {
    $bucket = fn (string $id) => fn () => new TokenBucket($storage(), "$name $id", 5, 0.001);
    $shown = fn (TokenBucket\Decision $decision) => json_encode([
        $decision->allowed, $decision->reason, $decision->remaining, round($decision->retryAfter, -2), round($decision->resetAfter, -2),
    ]);

    // The bucket is filled meanwhile.
    $filled = $bucket('filled');
    $filled()->consume(5);
    $decision = $shown($interrupted($filled, fn ($bucket) => $bucket->reset()));
    check($decision === '[false,"interrupted",5,0,0]', "$name: filled: $decision");

    // Another call reserves three tokens after this call, so the cancel gives nothing back.
    $behind = $bucket('behind');
    $behind()->consume(5);
    $decision = $shown($interrupted($behind, fn ($bucket) => $bucket->reserve(3)));
    check($decision === '[false,"interrupted",-5,7000,10000]', "$name: behind: $decision");
    check($behind()->peek(0)->remaining === -5.0, "$name: the bucket agrees");

    // No other call comes between, so the cancel gives all tokens back.
    $alone = $bucket('alone');
    $alone()->consume(4);
    $decision = $shown($interrupted($alone, fn () => null));
    check($decision === '[false,"interrupted",1,1000,4000]', "$name: alone: $decision");

    // The cancel gives all tokens back, also if the handler of the signal throws.
    $throws = $bucket('throws');
    $throws()->consume(4);
    $is_thrown = false;
    pcntl_signal(SIGALRM, function () use (&$is_thrown) {
        $is_thrown || throw new DomainException('enough' . ($is_thrown = true));
    });
    $said = thrown(fn () => $interrupted($throws, fn () => null));
    check($said === 'DomainException: enough1', "$name: throws: $said");
    check($throws()->peek(0)->remaining === 1.0, "$name: throws: the tokens are back");
    pcntl_signal(SIGALRM, fn () => null);
}
echo "done\n";
?>
--EXPECT--
done

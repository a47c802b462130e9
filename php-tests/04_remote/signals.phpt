--TEST--
Calls that signals interrupt return correct decisions and do not fail
--EXTENSIONS--
pcntl
ffi
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/tls.inc.php';

$libc = FFI::cdef(<<<'C'
    struct span { long seconds; long micros; };
    struct timer { struct span interval; struct span value; };
    int setitimer(int which, const struct timer *new_value, struct timer *old_value);
    C);
/** Makes the kernel send SIGALRM every $micros microseconds. 0 stops the signals. */
$ring = function (int $micros) use ($libc): void {
    $timer = $libc->new('struct timer');
    $timer->interval->micros = $timer->value->micros = $micros;
    $libc->setitimer(0, FFI::addr($timer), null);
};

$tls = new TlsRedis;
$redis = $tls->server;
$memcached = MemcachedServer::startTcp();
$throw = TokenBucket\OnFailure::Throw;
$timeout = 60.0;
$calls = is_slow() ? 600 : 3000;
// The least number of signals that interrupt the calls to a storage.
$signals = is_slow() ? 20 : 200;
$storages = [
    'Redis' => fn (bool $denialCache) => new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port", json_encode($denialCache), $timeout, $throw, $denialCache),
    'Redis with TLS' => fn (bool $denialCache) => new TokenBucketStorageRedis($tls->dsn(), "tls $denialCache", $timeout, $throw, $denialCache),
    'memcached' => fn (bool $denialCache) => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", json_encode($denialCache), $timeout, $throw, $denialCache),
];
$handled = 0;
$elsewhere = new TokenBucket(new TokenBucketStorageRedis("unix://$redis->socket", 'handler:', $timeout, $throw), 'x', 1e6, 0.01);
pcntl_async_signals(true);
foreach ($storages as $name => $storage) {
    if (is_slow() && $name === 'Redis with TLS') {
        // Skips TLS under valgrind, which reports the output of the cipher's assembly code as
        // uninitialised.
        continue;
    }
    foreach ([true, false] as $denialCache) {
        // At every 50th signal the handler itself calls a store.
        pcntl_signal(SIGALRM, function () use (&$handled, $elsewhere): void {
            if (++$handled % 50 === 0) {
                $elsewhere->consume();
            }
        }, $denialCache);
        $capacity = intdiv($calls, 2);
        $bucket = new TokenBucket($storage($denialCache), 'x', $capacity, 1e-5);
        $before = $handled;
        $wrong = 0;
        $ring(is_slow() ? 2_000 : 200);
        try {
            for ($i = 1; $i <= $calls; $i++) {
                $decision = $bucket->attempt();
                $right = $decision->allowed === ($i <= $capacity) && $decision->remaining === (float) max(0, $capacity - $i);
                $wrong += (int) !$right;
            }
            for ($i = 0; $i < 100; $i++) {
                $bucket->refund();
                $wrong += (int) ($bucket->peek()->remaining !== $i + 1.0);
            }
            // On a quick machine, too few signals may have arrived so far.
            while ($handled - $before < $signals) {
                $wrong += (int) ($bucket->peek()->remaining !== 100.0);
            }
        } finally {
            $ring(0);
        }
        check($wrong === 0, "$name: $wrong wrong");
    }
}
check($elsewhere->peek()->remaining === 1e6 - intdiv($handled, 50), 'what the handler took');

echo "-- a signal ends wait() without a failure --\n";
pcntl_signal(SIGALRM, function () use (&$handled): void {
    $handled++;
});
$bucket = new TokenBucket($storages['Redis'](true), 'waiting', 1, 0.001);
$bucket->consume();
$ring(300_000);
$decision = $bucket->wait(2000);
$ring(0);
print_values($decision->allowed, $decision->reason, TokenBucket\status()['remote']['failed']);
?>
--EXPECT--
-- a signal ends wait() without a failure --
false 'interrupted' 0

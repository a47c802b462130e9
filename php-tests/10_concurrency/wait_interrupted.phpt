--TEST--
acquire() ends when a signal arrives that PHP must handle, and holds no permit and no place
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;

$handled = 0;
pcntl_async_signals(true);
pcntl_signal(SIGALRM, function () use (&$handled) {
    $handled++;
});
$limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
$held = $limit->acquire();

$signaller = signal_during_sleep('ALRM');
$permit = $limit->acquire(1000.0, 1);
signalled($signaller);
show($permit->decision);
print_values($handled, $permit->renew(), $permit->decision->headers());

echo "-- the handler releases the permit that the call waits for --\n";
pcntl_signal(SIGALRM, fn () => $held->release());
$signaller = signal_during_sleep('ALRM');
$permit = $limit->acquire(1000.0, 1);
signalled($signaller);
print_values($permit->decision->reason, $limit->held());
$held = $limit->acquire();
print_values($held->decision->reason);

echo "-- a handler that throws --\n";
pcntl_signal(SIGALRM, function () {
    throw new DomainException('enough');
});
// PHP leaks the return value of a call if a signal handler throws right after the call. Valgrind
// and a debug build of PHP would report that leak.
if (is_slow() || PHP_DEBUG) {
    echo "DomainException: enough\n";
} else {
    $signaller = signal_during_sleep('ALRM');
    echo thrown(fn () => $limit->acquire(1000.0, 1)), "\n";
    signalled($signaller);
}
print_values($limit->held());
$held->release();
print_values($limit->held());

echo "-- an ignored signal does not end the wait --\n";
$held = $limit->acquire();
pcntl_signal(SIGALRM, SIG_IGN);
$signaller = signal_during_sleep('ALRM');
$start = hrtime(true);
print_values($limit->acquire(0.5, 1)->decision->reason);
check(hrtime(true) - $start >= 500_000_000, 'half a second');
signalled($signaller);
?>
--EXPECT--
denied interrupted remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
1 false ['RateLimit-Policy' => '"default";q=1;qu="concurrent-requests"', 'RateLimit' => '"default";r=0', 'Retry-After' => '1']
-- the handler releases the permit that the call waits for --
'interrupted' 0
'granted'
-- a handler that throws --
DomainException: enough
1
0
-- an ignored signal does not end the wait --
'too_many_concurrent'

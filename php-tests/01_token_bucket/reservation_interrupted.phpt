--TEST--
Reservation::wait() runs signal handlers, and cancels the reservation if a handler throws
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

pcntl_async_signals(true);
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 2, 0.001);
$bucket->consume(2);
echo "-- a handler that throws --\n";
pcntl_signal(SIGALRM, fn() => throw new DomainException('enough'));
$reservation = $bucket->reserve(2);
print_values($bucket->peek()->remaining);
$signaller = signal_during_sleep('ALRM');
echo thrown(fn() => $reservation->wait()), "\n";
signalled($signaller);
print_values($bucket->peek()->remaining);
$reservation->cancel();
print_values($bucket->peek()->remaining);
echo thrown(fn() => $reservation->wait()), "\n";
echo "-- a handler that cancels --\n";
$reservation = $bucket->reserve(2);
pcntl_signal(SIGALRM, fn() => $reservation->cancel());
$signaller = signal_during_sleep('ALRM');
echo thrown(fn() => $reservation->wait()), "\n";
signalled($signaller);
echo "-- a handler that returns does not end the wait --\n";
$handled = 0;
pcntl_signal(SIGALRM, function () use (&$handled) {
    $handled++;
});
$quick = new TokenBucket(new TokenBucketStorageSharedMemory, 'quick', 1, 1);
$quick->consume();
$start = hrtime(true);
$reservation = $quick->reserve();
$signaller = signal_during_sleep('ALRM');
$reservation->wait();
$waited = (hrtime(true) - $start) / 1e9;
signalled($signaller);
check($waited > $reservation->delay - 1e-6, "waited $waited s for $reservation->delay s");
print_values($handled, $quick->peek(0)->allowed);
echo "-- wait() of the bucket gives its tokens back, too --\n";
$signaller = signal_during_sleep('ALRM');
print_values($bucket->wait(INF, 2)->reason, $bucket->peek()->remaining);
signalled($signaller);
?>
--EXPECT--
-- a handler that throws --
-2.0
DomainException: enough
0.0
0.0
LogicException: The reservation was cancelled
-- a handler that cancels --
LogicException: The reservation was cancelled
-- a handler that returns does not end the wait --
1 true
-- wait() of the bucket gives its tokens back, too --
'interrupted' 0.0

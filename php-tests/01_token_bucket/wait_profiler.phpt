--TEST--
A profiler that interrupts PHP does not end wait()
--SKIPIF--
<?php
require __DIR__ . '/wait_profiler.inc.php';
if (profiler() === null) {
    die('skip needs a C compiler and the headers of this PHP');
}
?>
--FILE--
<?php
require __DIR__ . '/wait_profiler.inc.php';

echo php_run(<<<'PHP'
    $storage = new TokenBucketStorageSharedMemory;
    $bucket = new TokenBucket($storage, 'x', 1, 2);
    $start = hrtime(true);
    $bucket->consume();
    $decision = $bucket->wait(60);
    echo $decision->reason, hrtime(true) - $start >= 0.5e9 ? ' in time' : ' too early', "\n";
    $start = hrtime(true);
    $reservation = $bucket->reserve();
    $reservation->wait();
    echo hrtime(true) - $start >= 1e9 * $reservation->delay ? 'in time' : 'too early', "\n";
    // On a busy machine, the thread of the profiler may have interrupted too few waits so far.
    for ($waits = 0; interrupts() < 10 && $waits < 100; $waits++) {
        $bucket->wait(60);
    }
    echo interrupts() >= 10 ? 'interrupted' : 'not interrupted', "\n";
    PHP, ['extension' => profiler()]);
?>
--EXPECT--
granted in time
in time
interrupted

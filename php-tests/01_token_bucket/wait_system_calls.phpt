--TEST--
wait() asks the kernel for no longer sleep than it needs, and for none if it need not sleep
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/strace.php';
if (is_slow() || !has_strace()) {
    die('skip strace cannot trace processes here');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/strace.php';

// The script prints the name of each call before the call. So each write() in the trace begins the
// part of one call.
$trace = php_traced(<<<'PHP'
    $storage = new TokenBucketStorageSharedMemory;
    $quick = new TokenBucket($storage, 'quick', 10, 100);
    $slow = new TokenBucket($storage, 'slow', 1, 0.001);
    $slow->consume();
    $memory = new TokenBucket(new TokenBucketStorageMemory, 'x', 1, 0.001);
    foreach ([
        'available' => fn () => $quick->wait(60, 10),
        'one sleep' => fn () => $quick->wait(60, 10),
        'reservation' => fn () => $quick->reserve(10)->wait(),
        'no tokens' => fn () => $quick->wait(60, 0),
        'timeout too short' => fn () => $slow->wait(900),
        'more than the capacity' => fn () => $slow->wait(900, 2),
        'reservation too late' => fn () => $slow->reserve(1, 900),
        'fake clock' => fn () => $memory->wait(1e9) && $memory->wait(1e9),
        'two sleeps' => fn () => $quick->reserve(8) && $quick->reserve(8) && $quick->wait(60, 8) && $quick->wait(60, 6),
        'end' => fn () => 0,
    ] as $name => $call) {
        echo "$name\n";
        $call();
    }
    PHP, 'write,ppoll,poll,select,pselect6,nanosleep,clock_nanosleep,epoll_wait,epoll_pwait,futex,sched_yield');
$parts = preg_split('/^write\(1, "([^"\\\\]*)\\\\n".*$/m', $trace, flags: PREG_SPLIT_DELIM_CAPTURE);
array_shift($parts);
foreach (array_chunk($parts, 2) as [$name, $calls]) {
    if ($name === 'end') {
        break;
    }
    $lines = array_filter(explode("\n", $calls));
    // Adds up the sleeps that ended by their timeout. If the machine pauses, the sum is smaller,
    // because less time is left to sleep or a sleep is interrupted.
    $seconds = 0.0;
    foreach ($lines as $line) {
        if (preg_match('/^ppoll\(NULL, 0, \{tv_sec=(\d+), tv_nsec=(\d+)\}.* = (0 \(Timeout\))?/', $line, $sleep)) {
            $seconds += isset($sleep[3]) ? $sleep[1] + $sleep[2] / 1e9 : 0;
        } else {
            echo "another call: $line\n";
        }
    }
    $most = ['one sleep' => 0.1, 'reservation' => 0.1, 'two sleeps' => 0.3][$name] ?? 0.0;
    check($seconds <= $most, "$name: $seconds s");
    echo "$name\n";
}
?>
--EXPECT--
available
one sleep
reservation
no tokens
timeout too short
more than the capacity
reservation too late
fake clock
two sleeps

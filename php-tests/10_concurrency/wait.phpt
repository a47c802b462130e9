--TEST--
acquire() waits for a permit until its timeout
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;

$limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);

echo "-- a wait in vain lasts as long as the timeout --\n";
$held = $limit->acquire();
$start = hrtime(true);
show($limit->acquire(0.25)->decision);
check(hrtime(true) - $start >= 250_000_000, 'a quarter of a second');
$held->release();

echo "-- a process that releases its permit, or ends, ends the wait of another one --\n";
foreach (['release', 'exit', 'KILL', 'STOP'] as $end) {
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $permit = $limit->acquire();
        fwrite($its, $permit->decision->reason);
        usleep(50_000);
        match ($end) {
            'release' => $permit->release(),
            'exit' => exit,
            default => send_signal($end, getmypid()),
        };
        sleep(600);
    }
    $granted = fread($mine, 7);
    // Control: a stopped process lives, so it keeps its permit.
    $permit = $limit->acquire($end === 'STOP' ? 0.5 : INF);
    print_values($end, $granted, $permit->decision->reason, $permit->renew());
    send_signal('KILL', $pid);
    pcntl_waitpid($pid, $status);
    unset($permit);
    print_values($limit->acquire()->decision->reason);
}

echo "-- the clock of a fake storage moves instead --\n";
$storage = new TokenBucketStorageMemory;
$limit = new ConcurrencyLimit($storage, 'x', 1);
$held = $limit->acquire(1000);
print_values($storage->now());
show($limit->acquire(1000)->decision);
print_values($storage->now());
show($limit->acquire(INF)->decision);
print_values($storage->now() > 1e9);
$held->release();
print_values($limit->acquire(1)->decision->allowed);
?>
--EXPECT--
-- a wait in vain lasts as long as the timeout --
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
-- a process that releases its permit, or ends, ends the wait of another one --
'release' 'granted' 'granted' true
'granted'
'exit' 'granted' 'granted' true
'granted'
'KILL' 'granted' 'granted' true
'granted'
'STOP' 'granted' 'too_many_concurrent' false
'granted'
-- the clock of a fake storage moves instead --
0.0
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
1000.0
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
true
true

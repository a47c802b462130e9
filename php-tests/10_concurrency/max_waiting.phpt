--TEST--
acquire() denies at once when $maxWaiting other calls wait, and the end of a wait frees its place
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;

$limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory('exports'), 'x', 1);
/** Returns the reason of a call that waits for a moment if at most $most calls wait. */
$reason = fn (int $most): string => $limit->acquire(1e-6, $most)->decision->reason;
/** Starts a process that waits. Returns its id, and a stream that gets its reason. */
function waiter(ConcurrencyLimit $limit, int $most): array
{
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $permit = $limit->acquire(600.0, $most);
        fwrite($its, $permit->decision->reason . "\n");
        sleep(600);
    }
    wait_for('a process waits', fn () => sleeps_in($pid, 'poll'));
    return [$pid, $mine];
}

function end_process(array $waiter): void
{
    send_signal('KILL', $waiter[0]);
    pcntl_waitpid($waiter[0], $status);
}

$held = $limit->acquire();
[$first, $second] = [waiter($limit, 2), waiter($limit, 2)];
show($limit->acquire(600.0, 2)->decision);
$calls = fn (): array => [$reason(3), $limit->acquire(1e-6)->decision->reason, $limit->acquire(0, 2)->decision->reason];
print_values('not counted among 2, or not limited', $calls());

echo "-- a place is no permit in reports --\n";
$status = TokenBucket\status();
print_values($limit->held(), $status['permits']['held'], $status['permits']['denied'], array_column($status['decisions'], 'permits_held', 'namespace'));
preg_match_all('/^tokenbucket_permits_held.*/m', TokenBucket\metrics(), $metrics);
print_values($metrics[0]);

echo "-- a killed process frees its place --\n";
print_values($reason(2));
end_process($first);
print_values($reason(2));
// Control: a new process takes the free place.
$first = waiter($limit, 2);
print_values($reason(2));
end_process($first);

echo "-- a grant frees its place --\n";
$held->release();
echo fgets($second[1]);
$first = waiter($limit, 2);
print_values($reason(2), $limit->held());
end_process($first);
end_process($second);

echo "-- so does the end of the script during a wait --\n";
$held = $limit->acquire();
pcntl_async_signals(true);
foreach (['exit' => fn () => exit, 'fatal error' => fn () => eval('final final class A {}')] as $end => $handler) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        ini_set('display_errors', '0');
        pcntl_signal(SIGALRM, $handler);
        $signaller = signal_during_sleep('ALRM');
        register_shutdown_function(function () use ($end, $reason, $signaller) {
            signalled($signaller);
            print_values($end, $reason(1));
        });
        $limit->acquire(600.0, 1);
        exit("$end: nothing ended the wait\n");
    }
    pcntl_waitpid($pid, $status);
}
print_values($reason(1));
echo "-- arguments --\n";
fold_equal_lines();
$free = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'free', 1);
foreach ([0, -1, 1025, PHP_INT_MIN, 'x', INF] as $most) {
    echo thrown(fn () => $free->acquire(0, $most)), "\n";
}
$memory = new TokenBucketStorageMemory;
foreach ([$memory, new TokenBucketStorageRedis('redis://127.0.0.1:1')] as $other) {
    foreach ([0, 1] as $timeout) {
        echo thrown(fn () => (new ConcurrencyLimit($other, 'x', 1))->acquire($timeout, 1)), "\n";
    }
}
print_values((new ConcurrencyLimit($memory, 'x', 1))->acquire(0, null)->decision->allowed);
print_values($free->acquire(maxWaiting: 1)->decision->allowed, $free->acquire(1, '1024')->decision->allowed);
?>
--EXPECT--
denied too_many_waiting remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
'not counted among 2, or not limited' ['too_many_concurrent', 'too_many_concurrent', 'too_many_concurrent']
-- a place is no permit in reports --
1 1 4 ['exports' => 1]
['tokenbucket_permits_held{namespace="exports"} 1']
-- a killed process frees its place --
'too_many_waiting'
'too_many_concurrent'
'too_many_waiting'
-- a grant frees its place --
granted
'too_many_concurrent' 1
-- so does the end of the script during a wait --
'exit' 'too_many_concurrent'
'fatal error' 'too_many_concurrent'
'too_many_concurrent'
-- arguments --
ValueError: TokenBucket\ConcurrencyLimit::acquire(): Argument #2 ($maxWaiting) must be between 1 and 1024 (4 times)
TypeError: TokenBucket\ConcurrencyLimit::acquire(): Argument #2 ($maxWaiting) must be of type ?int, string given
TypeError: TokenBucket\ConcurrencyLimit::acquire(): Argument #2 ($maxWaiting) must be of type ?int, float given
LogicException: TokenBucketStorageMemory does not support argument $maxWaiting of TokenBucket\ConcurrencyLimit::acquire() (2 times)
LogicException: TokenBucketStorageRedis does not support argument $maxWaiting of TokenBucket\ConcurrencyLimit::acquire() (2 times)
true
true true

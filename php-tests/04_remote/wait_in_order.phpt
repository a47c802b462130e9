--TEST--
wait() serves callers in order of arrival, and a killed caller costs only its own tokens
--EXTENSIONS--
pcntl
posix
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

// The number of calls of each process in progress(). scripts/test --full sets a greater one.
define('CALLS', 5 * (int) (getenv('TOKENBUCKET_CROWD') ?: 4));
const RATE = 50;

/**
 * Runs one process for each cost. Each process takes its cost CALLS times. Returns how many calls
 * of the process with the greatest cost had ended when the first process had made all its calls.
 */
function progress(string $kind, TokenBucketStorage $storage, array $costs, Closure $take): int
{
    $start = hrtime(true);
    $ends = in_processes(count($costs), function (int $index) use ($storage, $costs, $take): array {
        $bucket = new TokenBucket($storage, 'crowd', 5, RATE);
        for ($call = 0; $call < CALLS; $call++) {
            $take($bucket, $costs[$index]);
            $ends[] = hrtime(true);
        }
        return $ends;
    });
    $most = 5 + RATE * (hrtime(true) - $start) / 1e9;
    check(CALLS * array_sum($costs) <= $most, "$kind: more than $most tokens");
    $delay = (new TokenBucket($storage, 'crowd', 5, RATE))->reserve()->delay;
    check($delay <= 1.001 / RATE, "$kind: the calls took more than their tokens: $delay s");
    $first = min(array_map(max(...), $ends));
    return count(array_filter($ends[array_search(max($costs), $costs, true)], fn (int $end) => $end <= $first));
}

/**
 * Lets three processes call wait() one after the other. Each must wait until the tokens of all
 * earlier processes and its own are refilled.
 */
function in_order(string $kind, TokenBucketStorage $storage): void
{
    $bucket = new TokenBucket($storage, 'in order', 100, 100);
    $start = hrtime(true);
    $bucket->consume(100);
    $empty = hrtime(true);
    $costs = [90, 30, 30];
    $took = in_processes(3, function (int $index) use ($kind, $bucket, $costs, $start, $empty): float {
        $before = array_sum(array_slice($costs, 0, $index));
        // Once all earlier processes have reserved their tokens, fewer tokens are left than $left()
        // returns. This bound grows, because the bucket refills meanwhile.
        $left = fn () => 15 - $before + 100 * (hrtime(true) - $empty) / 1e9;
        wait_for("$kind: process $index arrives", function () use ($bucket, $left): bool {
            $most = $left();
            return $bucket->peek(0)->remaining < $most;
        });
        check($bucket->wait(INF, $costs[$index])->allowed, 'denied');
        return (hrtime(true) - $start) / 1e9;
    });
    foreach ($took as $index => $seconds) {
        $least = 0.99 * array_sum(array_slice($costs, 0, $index + 1)) / 100;
        check($seconds >= $least, "$kind: process $index was served after $seconds s, not $least");
    }
}

/**
 * Kills a process that waits for 50 tokens. Checks that these tokens are lost, and no others.
 */
function kill_a_waiter(string $kind, TokenBucketStorage $storage): void
{
    $bucket = new TokenBucket($storage, 'killed', 50, 10);
    $start = hrtime(true);
    $bucket->consume(50);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $bucket->wait(INF, 50);
        exit;
    }
    wait_for("$kind: a process waits", fn () => $bucket->peek(0)->remaining < -1);
    posix_kill($pid, SIGKILL);
    pcntl_waitpid($pid, $status);
    check(pcntl_wifsignaled($status), "$kind: the waiter has ended by itself");
    $delay = $bucket->reserve(1)->delay;
    $elapsed = (hrtime(true) - $start) / 1e9;
    check($delay <= 5.1001 && $delay >= 5.0999 - $elapsed, "$kind: $delay s for a token after $elapsed s");
}

$wait = fn (TokenBucket $bucket, int $cost) => check($bucket->wait(INF, $cost)->allowed, 'denied');
// The control takes tokens as soon as they are available, and reserves none.
$greedy = function (TokenBucket $bucket, int $cost): void {
    while (!($decision = $bucket->attempt($cost))->allowed) {
        usleep((int) ceil($decision->retryAfter * 1e6));
    }
};
$costs = [1, 1, 5, 1, 1];
$redis = Store::each()->current();
$storages = [
    'shared memory' => new TokenBucketStorageSharedMemory('in order'),
    'Redis' => $redis->storage(OnFailure::Throw),
];
foreach ($storages as $kind => $storage) {
    in_order($kind, $storage);
    kill_a_waiter($kind, $storage);
    // Each process makes about as many calls as the others, because each waits for its turn.
    $progress = progress($kind, $storage, $costs, $wait);
    check($progress > CALLS / 2, "$kind: $progress calls of " . CALLS);
}
$progress = progress('control', new TokenBucketStorageSharedMemory('greedy'), $costs, $greedy);
check($progress < CALLS / 2, "the control: $progress calls of " . CALLS);
echo "done\n";
?>
--EXPECT--
done

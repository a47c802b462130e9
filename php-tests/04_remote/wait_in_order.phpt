--TEST--
wait() serves callers in order of arrival, and a killed caller costs only its own tokens
--EXTENSIONS--
pcntl
posix
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

// scripts/test --full runs longer.
define('SECONDS', (int) (getenv('TOKENBUCKET_CROWD') ?: 4));

/**
 * Runs one process for each cost. Each takes its tokens again and again until the time is over.
 * Returns the number of grants of each process.
 */
function crowd(TokenBucketStorage $storage, array $costs, Closure $take): array
{
    $until = hrtime(true) + SECONDS * 1e9;
    return in_processes(count($costs), function (int $index) use ($storage, $costs, $take, $until): int {
        $bucket = new TokenBucket($storage, 'crowd', 5, 200);
        for ($granted = 0; hrtime(true) < $until; $granted++) {
            $take($bucket, $costs[$index]);
        }
        return $granted;
    });
}

$in_order = fn (TokenBucket $bucket, int $cost) => check($bucket->wait(INF, $cost)->allowed, 'denied');
// The control takes tokens as soon as they are there, as callers without reservations do.
$greedy = function (TokenBucket $bucket, int $cost): void {
    for ($patience = 2e9 + hrtime(true); hrtime(true) < $patience; usleep((int) ceil($decision->retryAfter * 1e6))) {
        $decision = $bucket->attempt($cost);
        if ($decision->allowed) {
            return;
        }
    }
};
$costs = [1, 1, 5, 1, 1];
$stores = iterator_to_array(Store::each());
$storages = [
    'shared memory' => new TokenBucketStorageSharedMemory('in order'),
    'Redis' => $stores['Redis']->storage(OnFailure::Throw),
];
foreach ($storages as $kind => $storage) {
    // A busy machine may delay one of the processes, so one of three rounds is enough.
    for ($round = 0, $share = 0; $round < 3 && $share <= 0.9; $round++) {
        $granted = crowd($storage, $costs, $in_order);
        $share = min($granted) / max($granted);
    }
    check($share > 0.9, "$kind: " . json_encode($granted));
    $tokens = array_sum(array_map(fn ($grants, $cost) => $grants * $cost, $granted, $costs));
    // Each process finishes its last wait after the time is over.
    check($tokens > 0.9 * SECONDS * 200 && $tokens <= 5 + (SECONDS + 0.5) * 200 + 9, "$kind: $tokens tokens");

    // A process that waits for five tokens is killed.
    $bucket = new TokenBucket($storage, 'killed', 5, 10);
    $start = hrtime(true);
    $bucket->consume(5);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $bucket->wait(INF, 5);
        exit;
    }
    while ($bucket->peek(0)->remaining > -4) {
        usleep(1000);
    }
    posix_kill($pid, SIGKILL);
    pcntl_waitpid($pid, $status);
    check(pcntl_wifsignaled($status), "$kind: the waiter has ended by itself");
    $bucket->wait(INF);
    $waited = (hrtime(true) - $start) / 1e9;
    check($waited >= 0.6 && $waited < 0.9, "$kind: $waited s for the tokens of the killed process and one more");
}
$granted = crowd(new TokenBucketStorageSharedMemory('greedy'), $costs, $greedy);
check(min($granted) / max($granted) < 0.5, 'the control: ' . json_encode($granted));
echo "done\n";
?>
--EXPECT--
done

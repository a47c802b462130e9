--TEST--
Killed processes never over-admit, never block others, and lose at most one token each
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
opcache.jit=disable
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const CAPACITY = 100000;
$folder = temporary_folder();
mt_srand(8);
for ($round = 0; $round < 2; $round++) {
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "kill $round", CAPACITY, 0.0001);
    $pids = [];
    for ($child = 0; $child < 12; $child++) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            // Writes one byte right after each grant, so that the grants of a killed child can be
            // counted.
            $file = fopen("$folder/$round-$child", 'w');
            stream_set_write_buffer($file, 0);
            while (true) {
                if ($bucket->consume()) {
                    fwrite($file, '.');
                }
            }
        }
        $pids[] = $pid;
    }
    wait_for('a child is granted a token', function () use ($folder, $round): bool {
        clearstatcache();
        return array_sum(array_map(filesize(...), glob("$folder/$round-*"))) > 0;
    });
    usleep(mt_rand(0, 60000));
    foreach (array_chunk($pids, 3) as $victims) {
        send_signal('KILL', ...$victims);
    }
    foreach ($pids as $pid) {
        pcntl_waitpid($pid, $status);
        check(pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGKILL, 'the child was killed');
    }
    clearstatcache();
    $written = array_sum(array_map('filesize', glob("$folder/$round-*")));
    $rest = 0;
    $start = hrtime(true);
    while ($bucket->consume()) {
        $rest++;
    }
    check((hrtime(true) - $start) / 1e9 < 50, 'the bucket still answers quickly');
    $total = $written + $rest;
    check($written > 0, 'there was traffic');
    check($total <= CAPACITY, "over-admitted: $written + $rest");
    check($total >= CAPACITY - count($pids), "lost: $written + $rest");
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
Processes killed while they create buckets block no bucket, and each bucket grants once
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
opcache.jit=disable
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
$storage = new TokenBucketStorageSharedMemory;
mt_srand(9);
for ($round = 0; $round < 8; $round++) {
    $pids = [];
    for ($child = 0; $child < 8; $child++) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            $file = fopen("$folder/$round-$child", 'w');
            stream_set_write_buffer($file, 0);
            for ($i = 0; ; $i++) {
                if ((new TokenBucket($storage, "$round:$i", 1, 0.0001))->consume()) {
                    fwrite($file, pack('V', $i));
                }
            }
        }
        $pids[] = $pid;
    }
    while (array_sum(array_map(filesize(...), glob("$folder/$round-*"))) === 0) {
        usleep(1000);
        clearstatcache();
    }
    usleep(mt_rand(0, 60000));
    foreach (array_chunk($pids, 2) as $victims) {
        send_signal('KILL', ...$victims);
    }
    foreach ($pids as $pid) {
        pcntl_waitpid($pid, $status);
    }
    $granted = [];
    foreach (glob("$folder/$round-*") as $file) {
        $bytes = file_get_contents($file);
        $granted = array_merge($granted, array_values(unpack('V*', substr($bytes, 0, strlen($bytes) & ~3)) ?: []));
    }
    check(count($granted) > 0, 'there was traffic');
    check(count($granted) === count(array_unique($granted)), 'a bucket granted twice');

    // Calls on all created buckets return quickly. Each killed process lost at most one grant.
    $start = hrtime(true);
    $late = [];
    for ($i = 0, $last = max($granted); $i <= $last; $i++) {
        if ((new TokenBucket($storage, "$round:$i", 1, 0.0001))->consume()) {
            $late[] = $i;
        }
    }
    check((hrtime(true) - $start) / 1e9 < 50, 'the buckets still answer quickly');
    check(!array_intersect($late, $granted), 'a bucket granted twice, once after the kill');
    $lost = $last + 1 - count($granted) - count($late);
    check($lost <= count($pids), "$lost grants were lost");
}
$memory = TokenBucket\status()['shared_memory'];
check($memory['contended'] === 0, 'contended: ' . $memory['contended']);
echo "done\n";
?>
--EXPECT--
done

--TEST--
Processes that wait for one bucket are all granted, at the rate of the bucket
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 5, 100);
$start = hrtime(true);
$granted = in_processes(6, function () use ($bucket): int {
    $granted = 0;
    for ($i = 0; $i < 10; $i++) {
        // Each of the six processes waits for one token at a time. So at most six tokens are
        // reserved, which are refilled within the timeout.
        $granted += (int) $bucket->wait(0.06)->allowed;
    }
    return $granted;
});
$took = (hrtime(true) - $start) / 1e9;
echo json_encode($granted), "\n";
// The processes take 60 tokens, of which five are available at once.
check($took >= 0.55, "too fast: $took");
?>
--EXPECT--
[10,10,10,10,10,10]

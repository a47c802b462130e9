--TEST--
wait() on shared memory sleeps until the tokens are available
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 10, 50);
$start = hrtime(true);
print_values($bucket->wait(1, 10)->allowed);
// The ten tokens are refilled 0.2 seconds after they were taken.
$decision = $bucket->wait(10.0, 10);
$slept = (hrtime(true) - $start) / 1e9;
print_values($decision->allowed, $decision->reason);
check($slept >= 0.2, "0.2 s: $slept");

echo "-- twenty calls in a row --\n";
$many = new TokenBucket(new TokenBucketStorageSharedMemory, 'many', 1, 100);
$start = hrtime(true);
for ($i = 0; $i < 20; $i++) {
    // Each token is available 0.01 seconds after the previous one.
    check($many->wait(0.01)->allowed, "wait $i");
}
$took = (hrtime(true) - $start) / 1e9;
check($took >= 0.19, "20 at 100 a second: $took");
?>
--EXPECT--
true
true 'granted'
-- twenty calls in a row --

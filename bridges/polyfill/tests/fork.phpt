--TEST--
A forked child locks for itself, and cannot give back what its parent has reserved
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/testkit.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 3000, 1e-5);
check($bucket->consume(), 'the file is open before the fork');
$granted = in_processes(4, function () use ($bucket) {
    for ($granted = 0, $i = 0; $i < 2000; $i++) {
        $granted += (int) $bucket->consume();
    }
    return $granted;
});
print_values(array_sum($granted), $bucket->peek()->remaining);

echo "-- reservations --\n";
$other = new TokenBucket(new TokenBucketStorageSharedMemory, 'y', 10, 1e-5);
$reservation = $other->reserve(4);
print_values(in_processes(1, function () use ($reservation, $other) {
    $reservation->cancel();
    return $other->peek()->remaining;
}), $other->peek()->remaining);
$reservation->cancel();
$reservation->cancel();
print_values($other->peek()->remaining);
?>
--EXPECT--
2999 0.0
-- reservations --
[6] 6.0
10.0

--TEST--
A full table with tokenbucket.shm_full=evict evicts the bucket nearest to full and counts evictions
--INI--
tokenbucket.shm_size=4K
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
$allowed = 0;
for ($i = 0; $i < 1000; $i++) {
    $allowed += (int) (new TokenBucket($storage, "id $i", 2, 0.001))->attempt()->allowed;
}
$memory = TokenBucket\status()['shared_memory'];
print_values($memory['full'], $allowed, $memory['refused'], $memory['denied']);
print_values($memory['evicted'] > 700, $memory['inserted'], $memory['evicted'] + $memory['live']);
// Each evicted bucket lacked about one token, whose cost is 1,000 s. Stored spans are rounded up.
print_values($memory['evicted_seconds'] / $memory['evicted'] > 900 && $memory['evicted_seconds'] / $memory['evicted'] <= 1001);
print_values($memory['evicted_seconds_max'] > 900 && $memory['evicted_seconds_max'] <= 1001);

echo "-- full buckets are replaced first, so no token is lost --\n";
for ($i = 0; $i < 1000; $i++) {
    (new TokenBucket($storage, "id $i", 2, 0.001))->reset();
}
$before = TokenBucket\status()['shared_memory'];
for ($i = 0; $i < 1000; $i++) {
    (new TokenBucket($storage, "quick $i", 2, 1e6))->consume();
    usleep(10);
}
$after = TokenBucket\status()['shared_memory'];
print_values($after['evicted'] - $before['evicted'], $after['reclaimed'] - $before['reclaimed'] > 700);
?>
--EXPECT--
'evict' 1000 0 0
true 1000 1000
true
true
-- full buckets are replaced first, so no token is lost --
0 true

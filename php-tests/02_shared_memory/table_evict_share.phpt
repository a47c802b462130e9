--TEST--
Eviction keeps an empty bucket with a span of ten minutes if daily buckets are 99 % full
--INI--
tokenbucket.shm_size=4K
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
$login = fn (int $number) => new TokenBucket($storage, "login $number", 10, 10 / 600);
for ($i = 0; $i < 20; $i++) {
    check($login($i)->consume(10), "login $i: ten at first");
}
for ($i = 0; $i < 2000; $i++) {
    check((new TokenBucket($storage, "daily $i", 100, 100 / 86400))->consume(), "daily $i");
}
$given = 0;
for ($i = 0; $i < 20; $i++) {
    $given += (int) $login($i)->consume(5);
}
var_dump($given);
$memory = TokenBucket\status()['shared_memory'];
var_dump($memory['full'], $memory['evicted'] > 1500);
// Each evicted bucket lacked a hundredth of a day (864 s). Stored spans are rounded up by at most
// 0.1 % of a day.
var_dump($memory['evicted_seconds_max'] <= 951);
?>
--EXPECT--
int(0)
string(5) "evict"
bool(true)
bool(true)

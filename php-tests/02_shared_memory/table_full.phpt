--TEST--
A full table with tokenbucket.shm_full=refuse denies calls and counts them
--INI--
tokenbucket.shm_size=4K
tokenbucket.shm_full=refuse
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
$granted = [];
$refused = 0;
for ($i = 0; $i < 1000; $i++) {
    $decision = (new TokenBucket($storage, "id $i", 2, 0.001))->attempt();
    if ($decision->allowed) {
        $granted[] = $i;
    } elseif ($decision->reason === 'table_full') {
        $refused++;
        check($decision->retryAfter > 0, 'retryAfter');
        check(isset($decision->headers()['Retry-After']), 'Retry-After');
    } else {
        check(false, $decision->reason);
    }
}
$memory = TokenBucket\status()['shared_memory'];
var_dump($memory['full'], $memory['slots'], $memory['evicted']);
var_dump(count($granted) + $refused, $refused > 700, $memory['refused'] === $refused, $memory['denied'] === $refused);
var_dump($memory['live'] === count($granted), $memory['inserted'] === count($granted));

echo "-- existing buckets still grant --\n";
$again = 0;
foreach ($granted as $i) {
    $again += (int) (new TokenBucket($storage, "id $i", 2, 0.001))->consume();
}
var_dump($again === count($granted));
foreach ($granted as $i) {
    check(!(new TokenBucket($storage, "id $i", 2, 0.001))->consume(), "id $i has a third token");
}

echo "-- consume() returns false, and resets free slots --\n";
for ($i = 1000; (new TokenBucket($storage, "id $i", 2, 0.001))->consume(); $i++);
var_dump((new TokenBucket($storage, "id $i", 2, 0.001))->consume());
foreach ($granted as $gone) {
    (new TokenBucket($storage, "id $gone", 2, 0.001))->reset();
}
var_dump((new TokenBucket($storage, "id $i", 2, 0.001))->consume());
?>
--EXPECT--
string(6) "refuse"
int(256)
int(0)
int(1000)
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
-- existing buckets still grant --
bool(true)
-- consume() returns false, and resets free slots --
bool(false)
bool(true)

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
print_values($memory['full'], $memory['slots'], $memory['evicted']);
print_values(count($granted) + $refused, $refused > 700, $memory['refused'] === $refused, $memory['denied'] === $refused);
print_values($memory['live'] === count($granted), $memory['inserted'] === count($granted));

echo "-- existing buckets still grant --\n";
$again = 0;
foreach ($granted as $i) {
    $again += (int) (new TokenBucket($storage, "id $i", 2, 0.001))->consume();
}
print_values($again === count($granted));
foreach ($granted as $i) {
    check(!(new TokenBucket($storage, "id $i", 2, 0.001))->consume(), "id $i has a third token");
}

echo "-- consume() returns false, and resets free slots --\n";
for ($i = 1000; (new TokenBucket($storage, "id $i", 2, 0.001))->consume(); $i++);
print_values((new TokenBucket($storage, "id $i", 2, 0.001))->consume());
foreach ($granted as $gone) {
    (new TokenBucket($storage, "id $gone", 2, 0.001))->reset();
}
print_values((new TokenBucket($storage, "id $i", 2, 0.001))->consume());
?>
--EXPECT--
'refuse' 256 0
1000 true true true
true true
-- existing buckets still grant --
true
-- consume() returns false, and resets free slots --
false
true

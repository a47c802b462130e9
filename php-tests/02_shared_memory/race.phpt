--TEST--
Eight processes are granted exactly the limit in shared memory, in each way to take a token
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/races.php';

$connect = fn () => new TokenBucketStorageSharedMemory;
$status = fn () => TokenBucket\status()['shared_memory'];
$is_polyfill = isset(TokenBucket\status()['polyfill']);
check_races('shared memory', $connect, $is_polyfill || is_slow() ? 800 : 80_000);
check_races_of_lockouts('shared memory', $connect);
check($is_polyfill || $status()['contended'] === 0, 'no call is denied because of a race');

// Checks that processes raced. The races above may cause no lost swap on a busy machine.
$make = fn () => (new TokenBucket($connect(), 'meet', 1e6, 0.001))->consume(...);
for ($round = 0; !$is_polyfill && $status()['conflicts'] === 0 && $round < 50; $round++) {
    granted_in_race($make, 100_000, 5000);
}
check($is_polyfill || $status()['conflicts'] > 0, 'a swap was lost and repeated');
echo "done\n";
?>
--EXPECT--
done

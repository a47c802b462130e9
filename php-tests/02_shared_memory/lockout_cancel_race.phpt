--TEST--
Parallel attempts on a lockout in shared memory leave no failure if each is taken back
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$lockout = fn (string $account) => new TokenBucket\Lockout(new TokenBucketStorageSharedMemory, $account, 7);
$left = fn (string $account) => $lockout($account)->peek()->remaining;
/** Makes attempts in processes, and takes them back. Returns the allowed ones. */
$in_vain = fn (string $account) => array_sum(in_processes(8, function () use ($lockout, $account) {
    $attempts = array_map(fn () => $lockout($account)->attempt(), range(1, 10));
    array_map($lockout($account)->cancel(...), $attempts);
    return count(array_filter(array_column($attempts, 'allowed')));
}));
foreach (['a', 'b', 'c'] as $account) {
    $allowed = $in_vain($account);
    check($allowed >= 7, "$account: $allowed attempts");
    check($left($account) === 7.0, "$account: {$left($account)} attempts are left");
}
echo "-- the control: one attempt is not taken back --\n";
$lockout('d')->attempt();
$in_vain('d');
check($left('d') === 6.0, "{$left('d')} attempts are left");
?>
--EXPECT--
-- the control: one attempt is not taken back --

--TEST--
Parallel guesses in shared memory get exactly the attempts of a lockout
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$lockout = fn (string $account) => new TokenBucket\Lockout(new TokenBucketStorageSharedMemory, $account, 7);
$guesses = fn (callable $may) => array_sum(in_processes(8, fn () => count(array_filter(range(1, 200), $may))));
foreach (['a', 'b', 'c'] as $account) {
    $allowed = $guesses(fn () => $lockout($account)->attempt()->allowed);
    check($allowed === 7, "$account: $allowed guesses");
    check($lockout($account)->peek()->reason === 'locked_out', "$account is locked");
}
echo "-- the control: the check comes first, and the count after all checks --\n";
$checked = array_sum(in_processes(8, fn () => (int) $lockout('d')->peek()->allowed));
check($checked > 7, "$checked guesses");
?>
--EXPECT--
-- the control: the check comes first, and the count after all checks --

--TEST--
The file grows with its live buckets and shrinks after they have ended, and no bucket changes
--FILE--
<?php
require __DIR__ . '/own_clock.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\MemoryStore;
use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Step;

[$folder, $clock] = [new_folder(), new OwnClock];
$size = function () use ($folder): int {
    clearstatcache();
    return filesize("$folder/buckets");
};
$home = opened($folder, $clock);
$first = [$home->store->now(), $size()][1];
for ($i = 0; $i < 5000; $i++) {
    take($home, "bucket $i", $i % 10 + 1);
}
$grown = $size();
$wrong = 0;
for ($i = 0; $i < 5000; $i++) {
    $wrong += (int) (tokens_of($home, "bucket $i") !== 9.0 - $i % 10);
}
$usage = $home->store->usage();
print_values($grown > $first, $wrong, $usage['live'], $usage['size'] === $grown);

echo "-- ended records are replaced --\n";
$clock->pass(11);
print_values($home->store->usage()['live']);
for ($i = 0; $i < 500; $i++) {
    take($home, "later $i");
}
print_values($size() === $grown, tokens_of($home, 'later 0'), tokens_of($home, 'bucket 9'));

echo "-- an hour later, the next new bucket makes the file small --\n";
$long = new Step(50_000 * Quota::SECOND, 100_000 * Quota::SECOND);
$home->take('long', $long);
$clock->pass(3601);
take($home, 'new');
print_values($size() < $grown / 4, tokens_of($home, 'new'), tokens_of($home, 'later 0'), $home->store->usage()['live']);

echo "-- random steps are decided as in memory, on one clock --\n";
mt_srand(3);
$memory = new Home(new MemoryStore);
$numbers = fn (Step $step, $it) => [$it->reason, $step->available($it), $step->debt($it), $step->retryAfter($it), $step->resetAfter($it)];
for ($i = 0; $i < 20000; $i++) {
    $identifier = 'same ' . mt_rand(0, 300);
    $span = mt_rand(1, 1000) * 7_654_321;
    $step = new Step(mt_rand(0, $span), $span, mt_rand(0, 3) > 0 ? 0 : mt_rand(0, $span), mt_rand(0, 4) === 0);
    [$a, $b] = [$home->take($identifier, $step), $memory->take($identifier, $step)];
    check($numbers($step, $a) === $numbers($step, $b), "step $i");
    if (mt_rand(0, 9) === 0) {
        $passed = mt_rand(0, 500_000_000);
        $clock->monotonic += $passed;
        $memory->store->advance($passed);
    }
}
?>
--EXPECT--
true 0 5000 true
-- ended records are replaced --
0
true 9.0 10.0
-- an hour later, the next new bucket makes the file small --
true 9.0 10.0 2
-- random steps are decided as in memory, on one clock --

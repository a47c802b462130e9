--TEST--
A lockout takes back attempts that verified nothing, each once, and not without limit
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\{Decision, Lockout};

fold_equal_lines();
$storage = new TokenBucketStorageMemory;
$lockout = new Lockout($storage, 'alice', attempts: 3);
$attempts = fn (int $count, ?Lockout $of = null) => array_map(fn () => ($of ?? $lockout)->attempt(), range(1, $count));
$state = fn () => print_values($lockout->peek()->reason, $lockout->peek()->remaining);

echo "-- each attempt once, in any order --\n";
[$a, $b, $c, $denied] = $attempts(4);
print_values($lockout->cancel($b), $lockout->cancel($b), $lockout->cancel($denied));
echo "-- the block goes on until its own attempt is taken back --\n";
$state();
print_values($lockout->cancel($c));
$state();
print_values($lockout->cancel($a));
$state();
echo "-- the block of another attempt goes on, with fewer failures after it --\n";
[$a, $b, $c] = $attempts(3);
$lockout->cancel($a);
show($lockout->attempt());
$storage->advance(901);
$state();
echo "-- after a success, the blocks of later attempts are not those of earlier ones --\n";
$lockout->succeed();
[, , $old] = $attempts(3);
$lockout->succeed();
$storage->advance(1);
$attempts(3);
print_values($lockout->cancel($old));
$state();
echo "-- a forgotten attempt --\n";
$storage->advance(900 + 86_401);
[$old] = $attempts(1);
$storage->advance(86_401);
$attempts(1);
print_values($lockout->cancel($old));
$state();
echo "-- an outage of an hour --\n";
for ($i = 0; $i < 60; $i++) {
    $lockout->cancel($lockout->attempt());
    $storage->advance(60);
}
$state();
echo "-- at most 100 in a row --\n";
$other = new Lockout($storage, 'bob', attempts: 3);
for ($free = 0; ($decision = $other->attempt())->allowed; $free++) {
    $other->cancel($decision);
}
print_values($free);
echo "-- decisions of other calls --\n";
$attempt = $lockout->attempt();
foreach ([$lockout->peek(), clone $attempt, new Decision(true), (new TokenBucket($storage, 'alice', 1, 1))->attempt(), (new Lockout($storage, 'carol'))->attempt()] as $decision) {
    echo thrown(fn () => $lockout->cancel($decision)), "\n";
}
print_values((new Lockout($storage, 'alice', attempts: 3))->cancel($attempt));
?>
--EXPECT--
-- each attempt once, in any order --
true false false
-- the block goes on until its own attempt is taken back --
'locked_out' 0.0
true
'granted' 2.0
true
'granted' 3.0
-- the block of another attempt goes on, with fewer failures after it --
denied locked_out remaining=0.0 capacity=3.0 retryAfter=900.0 resetAfter=87300.0
'granted' 1.0
-- after a success, the blocks of later attempts are not those of earlier ones --
false
'locked_out' 0.0
-- a forgotten attempt --
false
'granted' 2.0
-- an outage of an hour --
'granted' 2.0
-- at most 100 in a row --
103
-- decisions of other calls --
ValueError: TokenBucket\Lockout::cancel(): Argument #1 ($attempt) must be the decision of attempt() of this lockout (5 times)
true

--TEST--
consume() with zero tokens, more than the capacity, and a bucket in debt
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- more than the capacity --\n";
print_values($bucket->consume(10.000001), $bucket->consume(11), $bucket->consume(PHP_INT_MAX), $bucket->consume(1e308));
print_values($bucket->peek()->remaining);
echo "-- zero tokens --\n";
print_values($bucket->consume(0), $bucket->consume(0.0), $bucket->consume(-0.0), $bucket->peek()->remaining);
print_values($bucket->consume(10), $bucket->consume(0));
echo "-- in debt --\n";
$storage->bootstrap('debt', $storage->now() + 5);
$debtor = new TokenBucket($storage, 'debt', 10, 1);
print_values($debtor->consume(0), $debtor->consume(1), $debtor->peek(0)->remaining);
$storage->advance(4);
print_values($debtor->consume(0));
$storage->advance(1.1);
print_values($debtor->consume(0), $debtor->consume(1));
echo "-- a smaller capacity later: grants up to the new capacity --\n";
$large = new TokenBucket($storage, 'changed', 100, 1);
$small = new TokenBucket($storage, 'changed', 2, 1);
print_values($large->consume(95), $small->peek()->remaining, $small->consume(2), $small->consume(1));
echo "-- a larger capacity later: keeps the tokens left and adds none --\n";
print_values($large->peek()->remaining);
?>
--EXPECT--
-- more than the capacity --
false false false false
10.0
-- zero tokens --
true true true 10.0
true true
-- in debt --
false false -5.0
false
true false
-- a smaller capacity later: grants up to the new capacity --
true 2.0 true false
-- a larger capacity later: keeps the tokens left and adds none --
0.0

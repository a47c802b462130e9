--TEST--
consume() with zero tokens, more than the capacity, and a bucket in debt
--FILE--
<?php
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- more than the capacity --\n";
var_dump($bucket->consume(10.000001), $bucket->consume(11), $bucket->consume(PHP_INT_MAX), $bucket->consume(1e308));
var_dump($bucket->peek()->remaining);
echo "-- zero tokens --\n";
var_dump($bucket->consume(0), $bucket->consume(0.0), $bucket->consume(-0.0), $bucket->peek()->remaining);
var_dump($bucket->consume(10), $bucket->consume(0));
echo "-- in debt --\n";
$storage->bootstrap('debt', $storage->now() + 5);
$debtor = new TokenBucket($storage, 'debt', 10, 1);
var_dump($debtor->consume(0), $debtor->consume(1), $debtor->peek(0)->remaining);
$storage->advance(4);
var_dump($debtor->consume(0));
$storage->advance(1.1);
var_dump($debtor->consume(0), $debtor->consume(1));
echo "-- a smaller capacity later: grants up to the new capacity --\n";
$large = new TokenBucket($storage, 'changed', 100, 1);
$small = new TokenBucket($storage, 'changed', 2, 1);
var_dump($large->consume(95), $small->peek()->remaining, $small->consume(2), $small->consume(1));
echo "-- a larger capacity later: keeps the tokens left and adds none --\n";
var_dump($large->peek()->remaining);
?>
--EXPECT--
-- more than the capacity --
bool(false)
bool(false)
bool(false)
bool(false)
float(10)
-- zero tokens --
bool(true)
bool(true)
bool(true)
float(10)
bool(true)
bool(true)
-- in debt --
bool(false)
bool(false)
float(-5)
bool(false)
bool(true)
bool(false)
-- a smaller capacity later: grants up to the new capacity --
bool(true)
float(2)
bool(true)
bool(false)
-- a larger capacity later: keeps the tokens left and adds none --
float(0)

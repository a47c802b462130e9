--TEST--
consume(): a full bucket of n grants n tokens, then one every 1/rate seconds
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 3, 2);
print_values($bucket->consume(), $bucket->consume(1), $bucket->consume(), $bucket->consume());
$storage->advance(0.499999999);
print_values($bucket->consume());
$storage->advance(0.000000001);
print_values($bucket->consume(), $bucket->consume());
$storage->advance(1000);
print_values($bucket->consume(4), $bucket->consume(3), $bucket->consume(0), $bucket->consume(0.001));
?>
--EXPECT--
true true true false
false
true false
false true true false

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

echo "-- other rates, many buckets --\n";
mt_srand(2);
foreach ([1, 3, 7, 0.3, 11.5, 1e5 / 7, 1e6, 1 / 86400] as $rate) {
    foreach ([1, 2, 10, 97, 1000] as $capacity) {
        $bucket = new TokenBucket($storage, "$rate/$capacity", $capacity, $rate);
        $granted = 0;
        while ($bucket->consume()) {
            $granted++;
        }
        check($granted === $capacity, "$capacity at $rate: $granted");
        $storage->advance(1.0000001 / $rate);
        check($bucket->consume() && !$bucket->consume(), "$capacity at $rate: one more");
    }
}

echo "-- n tokens at once take as much as n single tokens --\n";
for ($i = 0; $i < 200; $i++) {
    [$capacity, $rate] = [mt_rand(1, 50), mt_rand(1, 100000) / mt_rand(1, 1000)];
    $a = new TokenBucket($storage, "a$i", $capacity, $rate);
    $b = new TokenBucket($storage, "b$i", $capacity, $rate);
    $n = mt_rand(1, $capacity);
    $a->consume($n);
    for ($k = 0; $k < $n; $k++) {
        $b->consume();
    }
    check($a->peek() == $b->peek(), "$n of $capacity at $rate");
}
?>
--EXPECT--
true true true false
false
true false
false true true false
-- other rates, many buckets --
-- n tokens at once take as much as n single tokens --

--TEST--
Shared memory storages share buckets only within a namespace
--FILE--
<?php
$left = fn($storage) => (new TokenBucket($storage, 'x', 10, 0.001))->peek()->remaining;
$take = fn($storage, $n) => (new TokenBucket($storage, 'x', 10, 0.001))->consume($n);

$default = new TokenBucketStorageSharedMemory;
$take($default, 1);
foreach (["", "a", "b", "a\0", "\xff", "A", str_repeat('long', 1000)] as $namespace) {
    $storage = new TokenBucketStorageSharedMemory($namespace);
    $fresh = $left($storage);
    $take($storage, 4);
    echo $fresh, ' ', $left(new TokenBucketStorageSharedMemory($namespace)), "\n";
}
var_dump($left($default));
echo "-- namespaces and identifiers are kept apart --\n";
(new TokenBucket(new TokenBucketStorageSharedMemory('ab'), 'c', 10, 0.001))->consume(3);
var_dump((new TokenBucket(new TokenBucketStorageSharedMemory('a'), 'bc', 10, 0.001))->peek()->remaining);
var_dump((new TokenBucket(new TokenBucketStorageSharedMemory(''), 'abc', 10, 0.001))->peek()->remaining);
echo "-- memory storages share nothing --\n";
$one = new TokenBucketStorageMemory;
$take($one, 3);
var_dump($left($one), $left(new TokenBucketStorageMemory));
?>
--EXPECT--
9 5
10 6
10 6
10 6
10 6
10 6
10 6
float(5)
-- namespaces and identifiers are kept apart --
float(10)
float(10)
-- memory storages share nothing --
float(7)
float(10)

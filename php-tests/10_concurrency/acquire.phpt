--TEST--
acquire() grants at most the limit, and release() lets the next caller in
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/acquire.inc.php';

use TokenBucket\ConcurrencyLimit;

// Both storages must make the same decisions.
alike(['SharedMemory', 'Memory'], function (string $name) {
    take_permits(new ("TokenBucketStorage$name"));
});

echo "-- namespaces are apart --\n";
$a = (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('a'), 'x', 1))->acquire();
$b = (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('b'), 'x', 1))->acquire();
print_values($a->decision->allowed, $b->decision->allowed, (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('a'), 'x', 1))->acquire()->decision->allowed);
print_values((new ConcurrencyLimit(new TokenBucketStorageMemory, 'x', 1))->held());
?>
--EXPECT--
allowed granted remaining=2.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=1.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=0.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
denied too_many_concurrent remaining=0.0 capacity=3.0 retryAfter=1.0 resetAfter=0.0
3 3 0
-- release() --
2 false true false
true 'too_many_concurrent' 3
-- a permit ends with its object --
2
2
2
1
2
1
-- two limits on one identifier share the permits --
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
1 3
1 1.0
-- the greatest limit --
1024 1024 'too_many_concurrent'
0
-- a bucket of the same name is independent --
true true
-- namespaces are apart --
true true false
0

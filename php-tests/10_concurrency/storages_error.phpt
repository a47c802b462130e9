--TEST--
ConcurrencyLimit throws for a storage that cannot keep permits, and names those that can
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\ConcurrencyLimit;

$storages = [
    new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits'),
    new TokenBucketStorageMemcached('127.0.0.1:1'),
];
fold_equal_lines();
foreach ($storages as $storage) {
    echo thrown(fn () => new ConcurrencyLimit($storage, 'x', 1)), "\n";
}
// The control: no server is contacted before acquire().
echo thrown(fn () => new ConcurrencyLimit(new TokenBucketStorageRedis('redis://127.0.0.1:1'), 'x', 1)), "\n";
?>
--EXPECT--
LogicException: TokenBucket\ConcurrencyLimit needs a TokenBucketStorageSharedMemory, a TokenBucketStorageRedis or a TokenBucketStorageMemory, because other storages cannot keep permits (2 times)
nothing thrown

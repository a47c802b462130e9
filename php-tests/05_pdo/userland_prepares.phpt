--TEST--
A storage prepares each statement once
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/userland.inc.php';

on_each_server(function (string $driver, MariaDbServer|SqliteFile $server) {
    $db = $server->connect([], LoudPDO::class);
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $storage->prepare();
    // The first call of a process also asks for the collation of the column.
    (new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'b', 100, 0.001))->peek();
    $db->prepared = [];
    $bucket = new TokenBucket($storage, 'b', 100, 0.001);
    for ($i = 0; $i < 10; $i++) {
        $bucket->consume();
        $bucket->peek();
    }
    check($db->prepared === ['INSERT', 'SELECT'], "$driver: prepared once: " . json_encode($db->prepared));
});
echo "done\n";
?>
--EXPECT--
done

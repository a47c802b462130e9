--TEST--
The garbage collector finds cycles through the connection and the bucket
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/userland.inc.php';

on_each_server(function (string $driver, MariaDbServer|SqliteFile $server) {
    // Tests a cycle through the connection. The connection has prepared no statement yet, because
    // PDO does not report the references of statements to the garbage collector.
    $connection = $server->connect([], LoudPDO::class);
    $held = new TokenBucketStoragePDO($connection, 'limits');
    $connection->prepared = [$held];
    $weak = WeakReference::create($held);
    unset($held, $connection);
    gc_collect_cycles();
    check($weak->get() === null, "$driver: a cycle");
    // Tests a cycle through a bucket, which keeps values derived from the storage.
    $held = new Plain($server->connect(), 'limits');
    $held->note = new TokenBucket($held, 'b', 2, 0.001);
    thrown(fn () => $held->note->consume(3));
    $weak = WeakReference::create($held);
    unset($held);
    gc_collect_cycles();
    check($weak->get() === null, "$driver: a cycle through a bucket");
});
echo "done\n";
?>
--EXPECT--
done

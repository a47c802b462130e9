--TEST--
Storages accept a PDO object that connects late, and keep databases in memory apart
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/userland.inc.php';

on_each_server(function (string $driver, MariaDbServer|SqliteFile $server) {
    // This PDO object has no connection. Its methods use the connection of another object.
    LazyPDO::$real = $server->connect();
    $lazy = new TokenBucketStoragePDO(new LazyPDO, 'limits');
    $bucket = new TokenBucket($lazy, 'lazy', 1, 0.001);
    check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, false, false], "$driver: lazy");
    check(TokenBucket::attemptAll([$bucket])->allowed === false, "$driver: lazy, all");
});
// Each database in memory is separate, so its storage uses no cached denials of another database.
$answers = [];
for ($i = 0; $i < 3; $i++) {
    $storage = new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits');
    $storage->prepare();
    $bucket = new TokenBucket($storage, 'b', 1, 0.001);
    $answers[] = [$bucket->consume(), $bucket->consume()];
}
check($answers === array_fill(0, 3, [true, false]), json_encode($answers));
echo "done\n";
?>
--EXPECT--
done

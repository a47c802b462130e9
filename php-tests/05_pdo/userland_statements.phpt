--TEST--
A storage detects statements that run after its own statement, and rethrows their exceptions
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
    // After a statement of the storage, userland code makes another call on the same storage. On
    // MySQL, that call changes the last insert id, which holds the result of the outer call.
    $db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [BusyStatement::class]);
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $outer = new TokenBucket($storage, 'outer', 1, 0.001);
    $inner = new TokenBucket($storage, 'inner', 5, 0.001);
    $outer->consume();
    BusyStatement::$behind = function () use ($inner) {
        check($inner->consume(), 'inner');
    };
    // On MySQL, the inner call restores the id of the outer call. SQLite needs no id, because each
    // statement has its own rows.
    $said = thrown(fn () => check(!$outer->consume(), 'outer is empty'));
    check($said === 'nothing thrown', "$driver: $said");
    check($inner->peek()->remaining === 4.0 && !$outer->consume(), "$driver: after it");
    if ($driver === 'mysql') {
        $db->exec('CREATE TABLE log (id int AUTO_INCREMENT PRIMARY KEY)');
        BusyStatement::$behind = fn () => $db->exec('INSERT INTO log VALUES ()');
        check(str_contains(thrown(fn () => $inner->consume()), 'last insert id'), 'a log is no answer');
    }
    BusyStatement::$behind = fn () => throw new DomainException('not of PDO');
    check(thrown(fn () => $inner->consume()) === 'DomainException: not of PDO', "$driver: exceptions of others");
    check($inner->consume(), "$driver: then as before");
});
echo "done\n";
?>
--EXPECT--
done

--TEST--
An error handler may call the bucket again, throw, or release the storage
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/userland.inc.php';

on_each_server(function (string $driver, MariaDbServer|SqliteFile $server) {
    $db = $server->connect([PDO::ATTR_ERRMODE => PDO::ERRMODE_WARNING]);
    $missing = new TokenBucketStoragePDO($db, 'missing');
    $bucket = new TokenBucket($missing, 'b', 5, 0.001);
    $depth = 0;
    set_error_handler(function () use (&$depth, &$bucket) {
        if ($depth++ < 3) {
            thrown(fn () => @$bucket->consume());
        }
        return true;
    });
    check(str_contains(thrown(fn () => $bucket->consume()), 'StorageException') && $depth === 1, "$driver: nested: $depth");
    set_error_handler(fn ($level, $message) => throw new ErrorException($message));
    check(str_starts_with(thrown(fn () => $bucket->consume()), 'ErrorException: '), "$driver: a handler that throws");
    set_error_handler(function () use (&$bucket, &$missing, &$db) {
        $bucket = $missing = $db = null;
        return true;
    });
    check(str_contains(thrown(fn () => $bucket->consume()), 'StorageException'), "$driver: a handler that drops all");
    set_error_handler(null);
});
echo "done\n";
?>
--EXPECT--
done

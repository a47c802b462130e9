--TEST--
Userland classes can extend the PDO storages
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/userland.inc.php';

fold_equal_lines();
on_each_server(function (string $driver, MariaDbServer|SqliteFile $server) {
    // Tests a subclass that changes identifiers and a subclass that overrides no method.
    $prefixed = new Prefixed($server->connect(), 'limits');
    $bucket = new TokenBucket($prefixed, 'b', 2, 0.001);
    check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, true, false], "$driver: prefixed");
    check(str_contains(thrown(fn () => $bucket->peek()), 'LogicException'), "$driver: of userland");
    $plain = new Plain($server->connect(), 'limits');
    check((new TokenBucket($plain, 'my b', 2, 0.001))->peek()->remaining === 0.0, "$driver: a plain subclass is native");
});
echo "done\n";
?>
--EXPECT--
consume b (6 times)
done

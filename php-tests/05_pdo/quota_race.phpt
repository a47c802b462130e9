--TEST--
Eight processes at the end of a quota's window get the limit of each window on databases
--EXTENSIONS--
mysqlnd
pcntl
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/quota_race.php';

foreach (sql_servers() as $driver => $server) {
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    $connect = fn () => new TokenBucketStoragePDO($server->connect(), 'limits');
    check_race_of_windows($driver, $connect, 50);
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

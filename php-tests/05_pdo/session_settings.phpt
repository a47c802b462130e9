--TEST--
Settings of the session and functions of its schemas do not change a decision
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$decide = function (PDO $db, string $table, string $what): void {
    $storage = new TokenBucketStoragePDO($db, $table, denialCache: false);
    $bucket = new TokenBucket($storage, $what, 3, 1e-6);
    check($bucket->consume(2) && !$bucket->consume(2) && $bucket->peek()->remaining === 1.0, "$what: plain steps");
    $bucket->refund(1);
    check($bucket->charge(3)->remaining === -1.0, "$what: charge()");
    $reservation = $bucket->reserve(2);
    $reservation->cancel();
    check($bucket->peek()->remaining === -1.0, "$what: cancel(): " . $bucket->peek()->remaining);
    $bucket->reset();
    check($bucket->peek()->remaining === 3.0, "$what: reset()");
    $storage->purge(1);
    $storage->prepare();
};

$server = MariaDbServer::start();
(new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
foreach (['sql_select_limit = 0', "sql_mode = '" . MariaDbServer::sql_mode() . "'", 'sql_safe_updates = 1', "time_zone = '+05:45'"] as $setting) {
    $db = $server->connect();
    $db->exec("SET $setting");
    $decide($db, 'limits', $setting);
}
echo "mysql\n";

$server = PostgreSqlServer::start();
$db = $server->connect();
$db->exec("CREATE SCHEMA app;
    CREATE FUNCTION app.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''2000-01-01''';
    CREATE FUNCTION app.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''2000-01-01''';
    CREATE FUNCTION app.round(double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 0::double precision';
    CREATE FUNCTION app.to_regclass(text) RETURNS regclass LANGUAGE sql AS 'SELECT NULL::regclass';
    CREATE FUNCTION app.nought(double precision, numeric) RETURNS double precision LANGUAGE sql AS 'SELECT 0::double precision';
    CREATE OPERATOR app.* (LEFTARG = double precision, RIGHTARG = numeric, FUNCTION = app.nought)");
(new TokenBucketStoragePDO($db, 'public.limits'))->prepare();
$db->exec('SET search_path TO app, pg_catalog');
$decide($db, 'public.limits', 'shadowed');
echo "pgsql\n";

$file = SqliteFile::start();
$db = $file->connect();
(new TokenBucketStoragePDO($db, 'limits'))->prepare();
$db->exec('PRAGMA count_changes = 1');
$decide($db, 'limits', 'count_changes');
$reset = new TokenBucket(new TokenBucketStoragePDO($db, 'limits'), 'reset', 3, 1e-6);
$reset->consume(3);
$reset->reset();
$other = new TokenBucketStoragePDO($file->connect([PDO::ATTR_TIMEOUT => 0]), 'limits');
check((new TokenBucket($other, 'reset', 3, 1e-6))->consume(3), 'a reset is committed');
echo "sqlite\n";
?>
--EXPECT--
mysql
pgsql
sqlite

--TEST--
Tables of one name in several schemas are different tables, whatever the DSN
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$choose = [
    'mysql' => fn (PDO $db, string $tenant) => $db->exec("USE $tenant"),
    'pgsql' => fn (PDO $db, string $tenant) => $db->exec("SET search_path TO $tenant"),
    // On SQLite, the second tenant's temporary table hides the table of the file.
    'sqlite' => fn (PDO $db, string $tenant) => $tenant === 'two' && $db->exec(
        'CREATE TEMPORARY TABLE limits (identifier varchar(255) PRIMARY KEY, microtime double)'
    ),
];
foreach (sql_servers() as $driver => $server) {
    $tenants = [];
    foreach (['one', 'two'] as $tenant) {
        $db = $server->connect();
        $driver === 'sqlite' || $db->exec("CREATE SCHEMA $tenant");
        $choose[$driver]($db, $tenant);
        $tenants[] = $storage = new TokenBucketStoragePDO($db, 'limits');
        $storage->prepare();
    }
    [$one, $two] = array_map(fn ($storage) => new TokenBucket($storage, 'b', 2, 1e-6), $tenants);
    check($one->consume(2) && !$one->consume() && !$one->consume(), "$driver: the first tenant");
    check($two->consume() && $two->consume() && !$two->consume(), "$driver: the second tenant");
    [$one, $two] = array_map(fn ($storage) => new TokenBucket($storage, 'all', 5, 1e-6), $tenants);
    check(TokenBucket::attemptAll([$one, $two], 2)->allowed, "$driver: attemptAll()");
    check([$one->peek()->remaining, $two->peek()->remaining] === [3.0, 3.0], "$driver: each bucket lost its own tokens");

    // A storage follows its connection to another schema.
    if ($driver !== 'sqlite') {
        $db = $server->connect();
        $storage = new TokenBucketStoragePDO($db, 'limits');
        $choose[$driver]($db, 'one');
        check(!(new TokenBucket($storage, 'b', 2, 1e-6))->consume(), "$driver: switched to the first");
        $choose[$driver]($db, 'two');
        check((new TokenBucket($storage, 'c', 2, 1e-6))->consume(2), "$driver: switched to the second");
    }
    // A table name with a schema means the same table on each connection. So two storages share one
    // bucket and, except on SQLite, its cached denial.
    $schema = ['mysql' => 'one', 'pgsql' => 'one', 'sqlite' => 'main'][$driver];
    $buckets = array_map(
        fn () => new TokenBucket(new TokenBucketStoragePDO($server->connect(), "$schema.limits"), 'd', 2, 1e-6),
        [1, 2]
    );
    check(!TokenBucket::attemptAll($buckets, 2)->allowed && TokenBucket::attemptAll($buckets, 1)->allowed, "$driver: together");
    $buckets[0]->consume();
    $before = TokenBucket\status()['remote']['cached'];
    $buckets[1]->consume();
    $cached = TokenBucket\status()['remote']['cached'] - $before;
    check($cached === ($driver === 'sqlite' ? 0 : 1), "$driver: cached $cached");
    echo "$driver\n";
}

// The tables of these schemas belong to one connection each, not to the database of the DSN.
$own = [
    'attached' => function () {
        $db = $GLOBALS['server']->connect();
        $db->exec("ATTACH '" . SqliteFile::start()->path . "' AS own");
        return [$db, 'own.limits'];
    },
    'temporary' => fn () => [$GLOBALS['server']->connect(), 'temp.limits'],
    'pg_temp' => fn () => [$GLOBALS['pgsql']->connect(), 'pg_temp.limits'],
];
$pgsql = PostgreSqlServer::start();
foreach ($own as $kind => $connect) {
    $storages = [];
    foreach ([1, 2] as $number) {
        [$db, $table] = $connect();
        $db->exec("CREATE TABLE $table (identifier varchar(255) PRIMARY KEY, microtime double precision)");
        $storages[] = new TokenBucketStoragePDO($db, $table);
    }
    [$one, $two] = array_map(fn ($storage) => new TokenBucket($storage, 'all', 5, 1e-6), $storages);
    check(TokenBucket::attemptAll([$one, $two], 3)->allowed, "$kind: attemptAll()");
    check([$one->peek()->remaining, $two->peek()->remaining] === [2.0, 2.0], "$kind: each bucket lost its own tokens");
    [$one, $two] = array_map(fn ($storage) => new TokenBucket($storage, 'b', 1, 1e-6), $storages);
    check($one->consume() && !$one->consume() && $two->consume(), "$kind: a denial holds for one connection");
    echo "$kind\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite
attached
temporary
pg_temp

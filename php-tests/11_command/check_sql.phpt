--TEST--
The command tokenbucket checks a table of MariaDB, PostgreSQL and SQLite, and leaves no row in it
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/check.inc.php';

/** Creates the table that prepare() creates, and one with each fault. */
function create_tables(PDO $db, array $statements): void
{
    foreach (['limits', 'without_span', 'short', 'rounded', 'watched'] as $table) {
        (new TokenBucketStoragePDO($db, $table))->prepare();
    }
    $db->exec('ALTER TABLE without_span DROP COLUMN span');
    array_map($db->exec(...), $statements);
}

$server = MariaDbServer::start(['--innodb-lock-wait-timeout=5', '--default-time-zone=+00:00']);
$db = $server->connect();
create_tables($db, [
    'ALTER TABLE short MODIFY identifier varchar(100)',
    'ALTER TABLE rounded MODIFY microtime float',
    'CREATE TABLE copies (id int) ENGINE=InnoDB',
    'CREATE TRIGGER watching AFTER INSERT ON watched FOR EACH ROW INSERT INTO copies VALUES (1)',
    'CREATE TABLE many LIKE limits',
    'ALTER TABLE many DROP PRIMARY KEY',
    'CREATE TABLE plain LIKE limits',
    'ALTER TABLE plain ENGINE=MyISAM',
    "CREATE USER app@localhost IDENTIFIED BY 'geheim'",
    'GRANT SELECT, INSERT, UPDATE ON test.limits TO app@localhost',
    'GRANT SELECT ON test.watched TO app@localhost',
    "INSERT INTO mysql.time_zone VALUES (1, 'N')",
    "INSERT INTO mysql.time_zone_name VALUES ('Europe/Berlin', 1)",
    "INSERT INTO mysql.time_zone_transition_type VALUES (1, 0, 3600, 0, 'CET')",
]);
$root = "{$server->dsn()};user=root";
$app = "{$server->dsn()};user=app;password=geheim";
echo implode(' ', array_keys(faults('mysql', $root, '--table=limits'))), "\n";
foreach (['missing', 'without_span', 'short', 'rounded', 'watched', 'many', 'plain', 'test.limits', 'a`b'] as $table) {
    faults("mysql $table", $root, "--table='$table'");
}
faults('mysql, without DELETE', $app, '--table=limits');
faults('mysql, without INSERT', $app, '--table=watched');
foreach ([
    'tx_isolation' => "'SERIALIZABLE'", 'time_zone' => "'Europe/Berlin'", 'innodb_lock_wait_timeout' => '50', 'init_connect' => "'SET timestamp = 1e9'",
] as $name => $value) {
    $before = $db->query("SELECT @@GLOBAL.$name")->fetchColumn();
    $db->exec("SET GLOBAL $name = $value");
    faults("mysql, $name", $app, '--table=limits');
    $db->exec("SET GLOBAL $name = " . (is_numeric($before) ? $before : $db->quote($before)));
}
faults('mysql, too many workers', $root, '--table=limits --pool=1000');
faults('mysql, a timeout that no server meets', $root, '--table=limits --timeout=0.0000001', '');
$found = faults('mysql, a wrong password', str_replace('geheim', 'geheimnis', $app));
check(!str_contains($found['server']['found'], 'geheim'), 'no password');
$rows = fn (PDO $db, string $table): int => (int) $db->query("SELECT COUNT(*) FROM $table")->fetchColumn();
echo 'rows: ', $rows($db, 'limits') + $rows($db, 'watched') + $rows($db, 'plain') + $rows($db, 'copies'), "\n";
$server->signal('STOP');
faults('mysql, a server that hangs', $root, '--table=limits', '--deadline=1');
$server->kill();
$server = MariaDbServer::start(['--version=8.0.11-TiDB-v7.5.0']);
faults('mysql, the version of TiDB', "{$server->dsn()};user=root", only: ['server']);
$server->kill();

$server = PostgreSqlServer::start(['-c', 'lock_timeout=5s']);
$db = $server->connect();
create_tables($db, [
    'ALTER TABLE short ALTER identifier TYPE varchar(100)',
    'ALTER TABLE rounded ALTER microtime TYPE real',
    "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    'CREATE TRIGGER watching BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION watch()',
    'CREATE TABLE many (LIKE limits)',
    'CREATE ROLE app LOGIN',
    'GRANT SELECT, INSERT, UPDATE ON limits TO app',
    'GRANT SELECT ON watched TO app',
    'CREATE SCHEMA skewed',
    "CREATE FUNCTION skewed.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.statement_timestamp() + interval ''90 s'''",
    'GRANT USAGE ON SCHEMA skewed TO app',
]);
$root = "{$server->dsn()};user=postgres";
echo implode(' ', array_keys(faults('pgsql', $root, '--table=limits'))), "\n";
foreach (['missing', 'without_span', 'short', 'rounded', 'watched', 'many', 'public.limits'] as $table) {
    faults("pgsql $table", $root, "--table=$table");
}
$app = str_replace('user=postgres', 'user=app', $root);
faults('pgsql, without DELETE', $app, '--table=limits');
faults('pgsql, without INSERT', $app, '--table=watched');
foreach (["default_transaction_isolation = 'serializable'", 'lock_timeout = 0', 'search_path = skewed, pg_catalog, public'] as $setting) {
    $db->exec("ALTER ROLE app SET $setting");
    faults("pgsql, $setting", $app, '--table=limits');
    $db->exec('ALTER ROLE app RESET ALL');
}
faults('pgsql, too many workers', $root, '--table=limits --pool=51');
$found = faults('pgsql, a password with a space', "$root;password=geheim nis=1 word");
check(preg_match('/geheim|nis|word/', $found['server']['found']) === 0, "no password: {$found['server']['found']}");
$found = faults('pgsql, a URL', 'pgsql://root:geheim@nis/@127.0.0.1/test');
check(preg_match('/geheim|nis/', $found['server']['found']) === 0, "no password: {$found['server']['found']}");
$found = faults('pgsql, a password with a semicolon', "$root;password=geheim;nis");
check(preg_match('/geheim|nis/', $found['server']['found']) === 0, "no password: {$found['server']['found']}");
echo 'rows: ', $rows($db, 'limits') + $rows($db, 'watched'), "\n";

$folder = temporary_folder();
create_tables($db = new PDO("sqlite:$folder/db"), [
    'CREATE TRIGGER watching AFTER INSERT ON watched BEGIN DELETE FROM watched; END',
    'CREATE TABLE many (identifier, microtime, span)',
]);
echo implode(' ', array_keys(faults('sqlite', "sqlite:$folder/db", '--table=limits'))), "\n";
foreach (['missing', 'without_span', 'watched', 'many'] as $table) {
    faults("sqlite $table", "sqlite:$folder/db", "--table=$table");
}
faults('sqlite, no file', "sqlite:$folder/other");
echo 'rows: ', $rows($db, 'limits') + $rows($db, 'watched'), ', files: ', implode(' ', array_diff(scandir($folder), ['.', '..'])), "\n";
?>
--EXPECT--
mysql: all ok, status 0
server latency table bucket purge triggers isolation clock timeouts clients time zone
mysql missing: failure table, failure bucket, warning purge, status 1
mysql without_span: warning table, status 0
mysql short: failure table, status 1
mysql rounded: failure table, failure bucket, status 1
mysql watched: warning triggers, status 0
mysql many: failure table, failure bucket, status 1
mysql plain: warning table, warning bucket, status 0
mysql test.limits: all ok, status 0
mysql a`b: failure table, failure bucket, warning purge, status 1
mysql, without DELETE: warning purge, status 0
mysql, without INSERT: failure bucket, warning purge, status 1
mysql, tx_isolation: warning purge, warning isolation, status 0
mysql, time_zone: warning purge, warning time zone, status 0
mysql, innodb_lock_wait_timeout: warning purge, warning timeouts, status 0
mysql, init_connect: warning purge, warning clock, status 0
mysql, too many workers: failure clients, status 1
mysql, a timeout that no server meets: failure latency, status 1
mysql, a wrong password: failure server, status 1
rows: 0
mysql, a server that hangs: failure server, status 1
mysql, the version of TiDB: warning server, status 1
pgsql: all ok, status 0
server latency table bucket purge triggers isolation clock timeouts clients
pgsql missing: failure table, failure bucket, warning purge, failure triggers, status 1
pgsql without_span: warning table, status 0
pgsql short: failure table, status 1
pgsql rounded: failure table, failure bucket, status 1
pgsql watched: warning triggers, status 0
pgsql many: failure bucket, status 1
pgsql public.limits: all ok, status 0
pgsql, without DELETE: warning purge, status 0
pgsql, without INSERT: failure bucket, warning purge, warning triggers, status 1
pgsql, default_transaction_isolation = 'serializable': warning purge, warning isolation, status 0
pgsql, lock_timeout = 0: warning purge, warning timeouts, status 0
pgsql, search_path = skewed, pg_catalog, public: warning purge, warning clock, status 0
pgsql, too many workers: failure clients, status 1
pgsql, a password with a space: failure server, status 1
pgsql, a URL: failure server, status 1
pgsql, a password with a semicolon: failure server, status 1
rows: 0
sqlite: all ok, status 0
server latency table bucket purge triggers
sqlite missing: failure table, failure bucket, warning purge, status 1
sqlite without_span: warning table, status 0
sqlite watched: failure bucket, warning triggers, status 1
sqlite many: failure bucket, status 1
sqlite, no file: failure server, status 1
rows: 0, files: db

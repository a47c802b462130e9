--TEST--
Identifiers in a database are compared byte by byte under every collation of the column
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$long = str_repeat('x', 255);
$identifiers = [
    '', ' ', 'user', 'User', 'uSER ', 'user ', 'user  ', ' user', "user\0", "user\0\0", "\0", "user\t", 'üser', "u\xcc\x88ser",
    'ÜSER', 'ß', 'ss', 'æ', 'ae', "\xff", "\xff\xfe", "\xc3\x28", '🪣', $long, "{$long}x", "{$long}y", "$long ", str_repeat('é', 255),
    'it\'s', '"', '`', '\\', '\\\'', '%', '_', '?', ':name', ';--', '/*', '$1', "\n", "\r\n", '0', '00', '1e3', '1000', 'null',
    'tokenbucket-sha256:' . hash('sha256', 'User'), 'tokenbucket-sha256:', 'tokenbucket-sha256:x',
];
$folds = [
    'mysql' => [
        'CREATE TABLE limits (identifier varchar(255) PRIMARY KEY, microtime double) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
        'CREATE TABLE narrow (identifier varchar(255) PRIMARY KEY, microtime double) CHARACTER SET latin1 COLLATE latin1_german2_ci',
    ],
    'pgsql' => ['CREATE TABLE limits (identifier varchar(255) PRIMARY KEY, microtime double precision)'],
    'sqlite' => ['CREATE TABLE limits (identifier varchar(255) PRIMARY KEY COLLATE NOCASE, microtime double)'],
];
foreach (sql_servers() as $driver => $server) {
    foreach ($folds[$driver] as $create) {
        foreach ([true, false] as $emulated) {
            $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
            $driver === 'mysql' && $emulated || $db->exec('DROP TABLE IF EXISTS limits');
            $table = explode(' ', $create)[2];
            $db->exec("DROP TABLE IF EXISTS $table");
            $db->exec($create);
            $storage = new TokenBucketStoragePDO($db, $table, denialCache: false);
            foreach ($identifiers as $number => $identifier) {
                $bucket = new TokenBucket($storage, $identifier, 100, 1e-6);
                check($bucket->consume($number + 1), "$driver $table takes " . json_encode($identifier));
            }
            foreach ($identifiers as $number => $identifier) {
                $left = (new TokenBucket($storage, $identifier, 100, 1e-6))->peek()->remaining;
                check($left === 99.0 - $number, "$driver $table: " . json_encode($identifier, JSON_PARTIAL_OUTPUT_ON_ERROR) . " $left");
            }
            check($db->query("SELECT count(*) FROM $table")->fetchColumn() == count($identifiers), "$driver: rows");
        }
    }
    $names = $db->query("SELECT identifier FROM $table")->fetchAll(PDO::FETCH_COLUMN);
    $plain = array_filter($names, fn ($name) => !str_starts_with($name, 'tokenbucket-sha256:'));
    check(in_array('user', $names, true) && in_array($long, $names, true) && !in_array('User', $names, true), "$driver: as they are");
    check(in_array('tokenbucket-sha256:' . hash('sha256', 'User'), $names, true), "$driver: hashed");
    check(preg_grep('/^[\x20-\x40\x5b-\x7e]*$/', $names, PREG_GREP_INVERT) === [], "$driver: no letters that fold");
    printf("%s: %d as they are, %d hashed\n", $driver, count($plain), count($names) - count($plain));
}
?>
--EXPECT--
mysql: 23 as they are, 27 hashed
pgsql: 23 as they are, 27 hashed
sqlite: 23 as they are, 27 hashed

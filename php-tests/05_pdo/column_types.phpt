--TEST--
A table whose columns would round numbers or merge names is refused
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Returns how many of 12 calls on a table grant a token, or the message of the failure. */
function granted(PDO $db, string $table): int|string
{
    $bucket = new TokenBucket(new TokenBucketStoragePDO($db, $table), 'a', 3, 0.001);
    try {
        return array_sum(array_map(fn () => (int) $bucket->consume(), range(1, 12)));
    } catch (TokenBucket\StorageException $error) {
        return preg_replace('/.*the statement failed: /', '', $error->getMessage());
    }
}

$key = 'identifier varchar(255) PRIMARY KEY';
$types = 'the column "microtime" must be a double, and "span" a bigint';
$index = 'the column "identifier" has no unique index of its own';
$refused = [
    'mysql' => [
        "$key, microtime float" => $types, "$key, microtime int" => $types, "$key, microtime bigint" => $types,
        "$key, microtime decimal(20,2)" => $types, "$key, microtime double(20,2)" => $types, "$key, microtime double unsigned" => $types,
        "$key, microtime double, span int" => $types, "$key, microtime double, span float" => $types,
        'identifier varchar(255), microtime double, UNIQUE (identifier(8))' => $index,
        'identifier varchar(255), microtime double, KEY (identifier)' => $index,
    ],
    'pgsql' => ["$key, microtime real" => $types, "$key, microtime numeric" => $types, "$key, microtime bigint" => $types],
    'sqlite' => [],
];
$accepted = [
    'mysql' => ["$key, microtime double precision NOT NULL", "$key, microtime double, span bigint", 'identifier text, microtime double, UNIQUE (identifier(255))'],
    'pgsql' => ["$key, microtime float", "$key, microtime instant, span int8"],
    // A column has no type there that would round a number.
    'sqlite' => ["$key, microtime int, span int", "$key, microtime float", "$key, microtime decimal(20,2)", "$key, microtime"],
];
foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    $driver === 'mysql' && $db->exec("SET sql_mode = ''");
    $driver === 'pgsql' && $db->exec('CREATE DOMAIN instant AS double precision');
    // A worker looks at each table once.
    foreach (array_keys($refused[$driver]) as $number => $columns) {
        [$table, $expected] = ["refused$number", $refused[$driver][$columns]];
        $db->exec("CREATE TABLE $table ($columns)");
        check(($result = granted($db, $table)) === $expected, "$driver, $columns: $result");
        $rows = $db->query("SELECT COUNT(*) FROM $table")->fetchColumn();
        check((int) $rows === 0, "$driver, $columns: $rows rows");
        if ($expected === $types) {
            $db->exec("CREATE VIEW view$number AS SELECT * FROM $table");
            check(($result = granted($db, "view$number")) === $expected, "$driver, a view, $columns: $result");
        }
    }
    foreach ($accepted[$driver] as $number => $columns) {
        $db->exec("CREATE TABLE accepted$number ($columns)");
        check(($result = granted($db, "accepted$number")) === 3, "$driver, $columns: $result of 12");
    }
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

--TEST--
Identifiers that a collation treats as equal are different buckets
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

// Names that are equal in some languages or character sets.
$identifiers = ['x ', 'x`', 'ccs', 'cscs', 'a-b', 'ab', '1', '01', 'i', 'j', 'y', '~', 'm', 'n', 'u', 'v', 'e', '@', '['];
// The identifier with a space at its end is always hashed, because usual collations compare such
// spaces in different ways.
$always_hashed = 1;
$check = function (PDO $db, string $table, string $what) use ($identifiers): int {
    $storage = new TokenBucketStoragePDO($db, $table, denialCache: false);
    $buckets = array_map(fn ($identifier) => new TokenBucket($storage, $identifier, 1000, 1e-6), $identifiers);
    foreach ($buckets as $number => $bucket) {
        check($bucket->consume($number + 1), "$what takes $identifiers[$number]");
    }
    foreach ($buckets as $number => $bucket) {
        $taken = 1000 - $bucket->peek()->remaining;
        check($taken === $number + 1.0, "$what: $taken were taken from '$identifiers[$number]'");
        $bucket->refund();
    }
    $left = array_map(fn ($bucket) => $bucket->peek()->remaining, $buckets);
    check(count(array_unique($left)) === count($left), "$what: refunds");
    $names = $db->query("SELECT identifier FROM $table")->fetchAll(PDO::FETCH_COLUMN);
    return count(preg_grep('/^tokenbucket-sha256:/', $names));
};

$server = MariaDbServer::start();
$db = $server->connect();
$names = [
    'utf8mb4_general_ci', 'latin1_swedish_ci', 'utf8mb4_lithuanian_ci', 'utf8mb4_roman_ci', 'macce_general_ci',
    'big5_chinese_nopad_ci', 'koi8u_general_ci', 'geostd8_general_ci', 'swe7_bin', 'utf8mb4_uca1400_swedish_ai_ci',
];
foreach ($names as $number => $name) {
    $table = "limits$number";
    if (!str_contains(thrown(fn () => $db->exec("CREATE TABLE $table (identifier varchar(255) PRIMARY KEY, microtime double)
        CHARACTER SET " . strtok($name, '_') . " COLLATE $name")), '1273')) {
        $hashed = $check($db, $table, $name);
        check($hashed === ($number < 2 ? $always_hashed : count($identifiers)), "$name: $hashed hashed");
    }
}
// The type of the column may be binary.
$db->exec('CREATE TABLE bytes (identifier varbinary(255) PRIMARY KEY, microtime double)');
check($check($db, 'bytes', 'varbinary') === $always_hashed, 'varbinary');
// This worker has already read the collation, so each call runs one statement.
$questions = fn () => (int) $db->query("SHOW SESSION STATUS LIKE 'Questions'")->fetchColumn(1);
$before = $questions();
for ($i = 0; $i < 10; $i++) {
    (new TokenBucket(new TokenBucketStoragePDO($db, 'limits2', denialCache: false), 'i', 1000, 1e-6))->consume();
}
check($questions() - $before === 11, 'questions: ' . $questions() - $before);
echo "mysql\n";

$server = PostgreSqlServer::start();
$db = $server->connect();
$db->exec("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1-kn-true-ka-shifted', deterministic = false)");
foreach (['' => $always_hashed, 'COLLATE "C"' => $always_hashed, 'COLLATE loose' => count($identifiers)] as $collate => $expected) {
    $db->exec('DROP TABLE IF EXISTS limits');
    $db->exec("CREATE TABLE limits (identifier varchar(255) $collate PRIMARY KEY, microtime double precision)");
    // A worker reads the collation once for each table name. So the table whose collation differs
    // is named with its schema.
    $db = $server->connect();
    $table = $expected === $always_hashed ? 'limits' : 'public.limits';
    $hashed = $check($db, $table, "pgsql $collate");
    check($hashed === $expected, "pgsql $collate: $hashed hashed");
}
echo "pgsql\n";

foreach (['' => $always_hashed, 'COLLATE NOCASE' => $always_hashed, 'COLLATE RTRIM' => $always_hashed, 'COLLATE first' => count($identifiers)] as $collate => $expected) {
    $server = SqliteFile::start();
    $db = $server->connect();
    // Compares only the first bytes of names, but the whole text of hashed names.
    $db->sqliteCreateCollation('first', fn ($a, $b) => strlen($a) > 20 || strlen($b) > 20 ? strcmp($a, $b) : strncmp($a, $b, 1));
    $db->exec("CREATE TABLE limits (identifier varchar(255) PRIMARY KEY $collate, microtime double)");
    foreach (['limits', 'main.limits'] as $table) {
        $db->exec('DELETE FROM limits');
        $hashed = $check($db, $table, "sqlite $collate");
        check($hashed === $expected, "sqlite $collate: $hashed hashed");
    }
}
echo "sqlite\n";
?>
--EXPECT--
mysql
pgsql
sqlite

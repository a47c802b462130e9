--TEST--
The names by which a database finds an account give five guesses in all, and colleagues behind its address may log in
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

preg_match('/^```php\n(use TokenBucket.*?)^\$storage/ms', file_get_contents(__DIR__ . '/../../docs/how-to/lock-out-guesses.md'), $page);
eval($page[1]);

// Full-width letters, a soft hyphen, another case, accents and blanks.
const SPELLINGS = ['josé', 'JOSÉ', 'jose', 'jôse', "ｊｏｓé", "jo\u{ad}sé", "josé ", 'jose@example.org', 'JOSE@example.org'];

/** Returns how many guesses of all spellings from many addresses are verified. */
function verified(callable $account, array $names): int
{
    [$storage, $verified] = [new TokenBucketStorageMemory, 0];
    for ($i = 0; $i < 90; $i++) {
        log_in($storage, "192.0.2.$i", $account($names[$i % count($names)]), function () use (&$verified) {
            $verified++;
            return false;
        });
    }
    return $verified;
}

$databases = [
    'SQLite' => [new PDO('sqlite::memory:'), 'TEXT COLLATE NOCASE'],
    'MariaDB, default collation' => [MariaDbServer::start()->connect(), 'VARCHAR(100) CHARACTER SET utf8mb4'],
    'MariaDB, utf8mb4_unicode_520_ci' => [MariaDbServer::start()->connect(), 'VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci'],
    'PostgreSQL, citext' => [PostgreSqlServer::start()->connect(), 'citext'],
];
foreach ($databases as $which => [$database, $type]) {
    match ($database->getAttribute(PDO::ATTR_DRIVER_NAME)) {
        'mysql' => $database->exec('SET NAMES utf8mb4'),
        'pgsql' => $database->exec('CREATE EXTENSION citext'),
        default => null,
    };
    $database->exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, name $type, email $type)");
    $database->exec("INSERT INTO accounts VALUES (7, 'josé', 'jose@example.org'), (8, 'josef', 'josef@example.org'), (9, '7', '')");
    $account = fn (string $name): string => account($database, $name);
    $finding = array_values(array_filter(SPELLINGS, fn ($name) => $account($name) === 'id:7'));
    echo "$which: ", count($finding), ' spellings find the account, ', verified($account, $finding), ' guesses';
    echo '; two more accounts: ', verified($account, ['josé', 'josef', '7']);
    echo '; the control, by the typed name: ', verified(strtolower(...), $finding) > 5 ? 'more than 5' : 'no more', "\n";
}

/** Returns how many colleagues log in while a device sends an old password every 30 s. */
function colleagues(callable $log_in): int
{
    [$storage, $welcome] = [new TokenBucketStorageMemory, 0];
    for ($i = 0; $i < 400; $i++) {
        $log_in($storage, '192.0.2.1', 'id:7', fn () => false);
        $i % 5 || $welcome += (int) ($log_in($storage, '192.0.2.1', "id:colleague $i", fn () => true) === null);
        $storage->advance(30);
    }
    return $welcome;
}
// The control keeps the token of the network when the lockout denies.
$without = strtr($page[1], ['function account(' => 'function unused(', 'function log_in(' => 'function keeping(']);
eval(preg_replace('~^ +\$clients->refund\(\); +//.*\n~m', '', $without, -1, $count));
echo 'of 80 colleagues, ', colleagues(log_in(...)), ' log in; the control: ', $count === 1 ? colleagues(keeping(...)) : 'none', "\n";
?>
--EXPECT--
SQLite: 3 spellings find the account, 5 guesses; two more accounts: 15; the control, by the typed name: more than 5
MariaDB, default collation: 7 spellings find the account, 5 guesses; two more accounts: 15; the control, by the typed name: more than 5
MariaDB, utf8mb4_unicode_520_ci: 8 spellings find the account, 5 guesses; two more accounts: 15; the control, by the typed name: more than 5
PostgreSQL, citext: 3 spellings find the account, 5 guesses; two more accounts: 15; the control, by the typed name: more than 5
of 80 colleagues, 80 log in; the control: 5

--TEST--
A failure that ends the caller's transaction is thrown under every policy
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

// Ignores PDO's own warnings about lost connections.
set_error_handler(fn () => true);
$calls = [
    'consume' => fn ($bucket) => $bucket->consume(),
    'attempt' => fn ($bucket) => $bucket->attempt(),
    'peek' => fn ($bucket) => $bucket->peek(),
    'charge' => fn ($bucket) => $bucket->charge(1),
    'settle' => fn ($bucket) => $bucket->settle(1, 2),
    'reserve' => fn ($bucket) => $bucket->reserve(),
    'wait' => fn ($bucket) => $bucket->wait(0.001),
    'refund' => fn ($bucket) => $bucket->refund(),
    'reset' => fn ($bucket) => $bucket->reset(),
    'block' => fn ($bucket) => $bucket->block(1),
    'drain' => fn ($bucket) => $bucket->drain(),
    'attemptAll' => fn ($bucket) => TokenBucket::attemptAll([$bucket, new TokenBucket(new TokenBucketStorageMemory(), 'm', 5, 1)]),
    'attemptEach' => fn ($bucket) => TokenBucket::attemptEach([$bucket]),
];
$policies = [OnFailure::Throw, OnFailure::Local, OnFailure::Allow, OnFailure::Deny];
$bucket = fn (PDO $db, OnFailure $policy = OnFailure::Throw, string $id = 'b', string $table = 'limits')
    => new TokenBucket(new TokenBucketStoragePDO($db, $table, $policy, denialCache: false), $id, 100, 1e-6);
/** Checks that $call throws the exception about the lost transaction, and returns its message. */
$told = function (string $what, callable $call): string {
    try {
        $call();
    } catch (TokenBucket\StorageException $e) {
        check(str_ends_with($e->getMessage(), '; the open transaction cannot be committed'), "$what: {$e->getMessage()}");
        check($e->getPrevious() instanceof PDOException, "$what: the previous exception");
        return $e->getMessage();
    }
    echo "FAILED: $what: nothing thrown\n";
    return '';
};
$count = fn (SqlServer|SqliteFile $server) => (int) $server->connect()->query('SELECT count(*) FROM orders')->fetchColumn();
$prepare = function (SqlServer|SqliteFile $server): void {
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    $server->connect()->exec('CREATE TABLE orders (id int)');
};

// PostgreSQL aborts a transaction after any error.
$server = PostgreSqlServer::start();
$prepare($server);
foreach ($policies as $policy) {
    foreach ($calls as $name => $call) {
        $what = "pgsql, $policy->name, $name()";
        $db = $server->connect();
        $missing = $bucket($db, $policy, table: 'missing');
        $db->beginTransaction();
        $db->exec('INSERT INTO orders VALUES (1)');
        $told($what, fn () => $call($missing));
        $db->rollBack();
        // Outside a transaction, the failure policy applies.
        check($policy === OnFailure::Throw || thrown(fn () => $call($missing)) === 'nothing thrown', "$what: outside");
    }
    // After a rollback to a savepoint, the transaction can be committed.
    $db->beginTransaction();
    $db->exec('INSERT INTO orders VALUES (1)');
    $db->exec('SAVEPOINT s');
    $told("pgsql, $policy->name: behind a savepoint", fn () => $missing->consume());
    $db->exec('ROLLBACK TO SAVEPOINT s');
    check($bucket($db, $policy)->consume(), 'pgsql: after a savepoint');
    $db->commit();
}
check($count($server) === count($policies), 'pgsql: committed');
echo "pgsql\n";

// With --innodb-rollback-on-timeout, a lock timeout rolls the whole transaction back. Without this
// option, only the statement is rolled back.
foreach ([false, true] as $whole) {
    $server = MariaDbServer::start(['--innodb-lock-wait-timeout=0', '--innodb-rollback-on-timeout=' . ($whole ? 'ON' : 'OFF')]);
    $prepare($server);
    $bucket($server->connect(), id: 'b')->consume();
    $other = $server->connect();
    $other->beginTransaction();
    $bucket($other, id: 'b')->consume();
    foreach ($policies as $policy) {
        $what = "mysql, $policy->name, " . ($whole ? 'the transaction' : 'the statement') . ' is rolled back';
        $db = $server->connect();
        $db->beginTransaction();
        $db->exec('INSERT INTO orders VALUES (1)');
        // attemptAll() takes from the first bucket and fails at the second one. If a rollback has
        // undone the take, giving the tokens back would grant them twice.
        $first = $bucket($db, $policy, 'first');
        $call = fn () => TokenBucket::attemptAll([$first, $bucket($db, $policy)], 10);
        $before = $bucket($server->connect(), id: 'first')->peek()->remaining;
        if ($whole) {
            $told($what, $call);
            check(!$db->inTransaction(), "$what: nothing is open");
        } else {
            check(($policy === OnFailure::Throw) === str_contains(thrown($call), '1205'), "$what: " . thrown($call));
            check($db->inTransaction() && $db->commit(), "$what: it is open");
        }
        check(round($bucket($server->connect(), id: 'first')->peek()->remaining) <= $before, "$what: refunded twice");
    }
    check($count($server) === ($whole ? 0 : count($policies)), "mysql: committed {$count($server)}");
    $other->rollBack();
}
foreach ($policies as $policy) {
    $db = $server->connect();
    $db->beginTransaction();
    $db->exec('INSERT INTO orders VALUES (1)');
    $id = $db->query('SELECT connection_id()')->fetchColumn();
    $server->connect()->exec("KILL $id");
    // Each table has its own breaker, which opens after a few lost connections.
    $lost = $bucket($db, $policy, table: "limits_$policy->name");
    $told("mysql, $policy->name: the connection is lost", fn () => $lost->consume());
}
echo "mysql\n";

// On SQLite, a trigger or a constraint of the table may roll the transaction back. If the disk is
// full, only the statement is undone.
foreach ($policies as $policy) {
    foreach (['beginTransaction', 'BEGIN IMMEDIATE'] as $begin) {
        foreach (['trigger', 'full'] as $cause) {
            $server = SqliteFile::start();
            $prepare($server);
            $db = $server->connect();
            if ($cause === 'trigger') {
                $db->exec("CREATE TRIGGER t BEFORE INSERT ON limits BEGIN SELECT RAISE(ROLLBACK, 'not now'); END");
            } else {
                $db->exec('PRAGMA max_page_count = ' . $db->query('PRAGMA page_count')->fetchColumn());
            }
            $fill = function () use ($db, $bucket, $policy): void {
                for ($i = 0; $i < 50; $i++) {
                    $bucket($db, $policy, str_pad("$i", 200, 'x'))->consume();
                }
            };
            $what = "sqlite, $policy->name, $begin, $cause";
            $begin === 'beginTransaction' ? $db->beginTransaction() : $db->exec($begin);
            $db->exec('INSERT INTO orders VALUES (1)');
            if ($cause === 'trigger') {
                $said = $told($what, $fill);
                check(str_contains($said, 'not now'), "$what: $said");
                thrown(fn () => $db->exec('ROLLBACK'));
            } else {
                check(($policy === OnFailure::Throw) === str_contains(thrown($fill), 'full'), $what);
                $db->exec('COMMIT');
            }
            check($count($server) === ($cause === 'trigger' ? 0 : 1), "$what: committed");
            check($policy === OnFailure::Throw || thrown($fill) === 'nothing thrown', "$what: outside");
        }
    }
}
echo "sqlite\n";
?>
--EXPECT--
pgsql
mysql
sqlite

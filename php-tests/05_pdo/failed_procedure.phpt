--TEST--
A transaction that a failed procedure has left open stays the caller's
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/sql_servers.php';

use TokenBucket\OnFailure;

// PDO learns the state of the session only from statements that succeed. These procedures fail, so
// inTransaction() returns false after them.
$server = MariaDbServer::start(['--innodb-lock-wait-timeout=0']);
$setup = $server->connect();
$setup->exec('CREATE TABLE orders (id int) ENGINE=InnoDB');
$setup->exec("CREATE PROCEDURE inserts() BEGIN INSERT INTO orders VALUES (1); SIGNAL SQLSTATE '45000'; END");
$setup->exec("CREATE PROCEDURE begins() BEGIN START TRANSACTION; INSERT INTO orders VALUES (1); SIGNAL SQLSTATE '45000'; END");
$connections = [
    'attribute' => fn () => $server->connect([PDO::ATTR_AUTOCOMMIT => 0]),
    'statement' => function () use ($server) {
        $db = $server->connect();
        $db->exec('SET autocommit = 0');
        return $db;
    },
    'autocommit' => fn () => $server->connect(),
];
foreach ($connections as $how => $connect) {
    foreach (['succeeds', 'fails', 'peeks'] as $outcome) {
        foreach (['COMMIT', 'ROLLBACK'] as $end) {
            // Uses a new table, about which this worker knows nothing yet.
            $table = "limits_{$how}_{$outcome}_$end";
            (new TokenBucketStoragePDO($setup, $table))->prepare();
            $bucket = fn (PDO $db) => new TokenBucket(new TokenBucketStoragePDO($db, $table, OnFailure::Local), 'b', 5, 1e-6);
            $bucket($setup)->consume(1);
            $holder = $server->connect();
            if ($outcome === 'fails') {
                $holder->beginTransaction();
                $bucket($holder)->consume(1);
            }
            if ($how === 'statement') {
                // Lets the worker notice that connections with this table are without autocommit.
                $bucket($connect())->peek();
            }
            foreach ([1, 2] as $round) {
                $what = "$how, $outcome, $end, round $round";
                $setup->exec('DELETE FROM orders');
                $db = $connect();
                check(str_contains(thrown(fn () => $db->exec($how === 'autocommit' ? 'CALL begins()' : 'CALL inserts()')), '45000'), $what);
                check(!$db->inTransaction(), "$what: PDO knows of no transaction");
                $outcome === 'peeks' ? $bucket($db)->peek() : $bucket($db)->consume(1);
                check($db->inTransaction(), "$what: the transaction is open");
                $db->exec($end);
                $rows = (int) $setup->query('SELECT count(*) FROM orders')->fetchColumn();
                check($rows === (int) ($end === 'COMMIT'), "$what: committed $rows");
            }
            $holder->exec('ROLLBACK');
            $taken = $outcome === 'succeeds' && $end === 'COMMIT' ? 2 : 0;
            check(round($bucket($setup)->peek()->remaining) === 4.0 - $taken, "$how, $outcome, $end: taken");
        }
    }
    echo "$how\n";
}
?>
--EXPECT--
attribute
statement
autocommit

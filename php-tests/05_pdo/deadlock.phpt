--TEST--
purge() retries after a deadlock, but throws in the caller's transaction
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$waits = [
    'mysql' => "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'",
    'pgsql' => "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
];
$of_postgresql = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
$servers = sql_servers();
unset($servers['sqlite']);
foreach ($servers as $driver => $server) {
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    foreach ([false, true] as $in_transaction) {
        $server->connect()->exec('DELETE FROM limits');
        $server->connect()->exec("INSERT INTO limits (identifier, microtime) VALUES ('a', 1), ('b', 2)");
        // The second process locks row b. purge() locks row a and then waits for b. Then the second
        // process tries to lock row a, which is a deadlock.
        [$outcome] = in_processes(2, function ($index, $barrier) use ($server, $driver, $waits, $in_transaction) {
            $db = $server->connect();
            if ($index === 0) {
                $storage = new TokenBucketStoragePDO($db, 'limits');
                $barrier();
                $in_transaction && $db->beginTransaction();
                try {
                    return $storage->purge(50);
                } catch (TokenBucket\StorageException $e) {
                    return preg_match('/40001|40P01/', $e->getMessage()) ? 'deadlock' : $e->getMessage();
                }
            }
            // PostgreSQL ends the transaction that detects the deadlock. So this transaction never
            // checks for deadlocks.
            $driver === 'pgsql' && $db->exec("SET deadlock_timeout = '1h'");
            $db->beginTransaction();
            $db->exec("UPDATE limits SET microtime = 3 WHERE identifier = 'b'");
            for ($i = 0; $i < 50; $i++) {
                // InnoDB ends the transaction that has changed fewer rows. So this transaction
                // changes more rows than purge().
                $db->exec("INSERT INTO limits (identifier, microtime) VALUES ('new $i', " . microtime(true) . ')');
            }
            $barrier();
            $watch = $server->connect();
            wait_for("$driver: purge() waits", function () use ($watch, $waits, $driver): bool {
                // InnoDB refreshes its table of waits only after 0.1 s without a read.
                usleep(200_000);
                return (int) $watch->query($waits[$driver])->fetchColumn() > 0;
            });
            $db->query("SELECT 1 FROM limits WHERE identifier = 'a' FOR UPDATE")->fetchAll();
            $db->commit();
        });
        check($outcome === ($in_transaction ? 'deadlock' : 2), "$driver: purge(): $outcome");
        $left = (int) $server->connect()->query("SELECT COUNT(*) FROM limits WHERE identifier IN ('a', 'b')")->fetchColumn();
        check($left === ($in_transaction ? 2 : 0), "$driver: $left rows are left");
    }
    // PostgreSQL updates its count of deadlocks with a delay.
    $db = $server->connect();
    // More deadlocks occur if the retried purge() locks row a before the second process does.
    wait_for("$driver: two deadlocks", fn () => ($driver === 'mysql' ? $server->deadlocks() : (int) $db->query($of_postgresql)->fetchColumn()) >= 2);
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql

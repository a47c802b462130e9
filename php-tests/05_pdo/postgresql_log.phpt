--TEST--
A denial on PostgreSQL writes nothing to the write-ahead log
--EXTENSIONS--
pdo
pdo_pgsql
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/sql_servers.php';

// Turns off most of the server's own writes to the log, which would disturb the measurement.
$server = PostgreSqlServer::start(['-c', 'autovacuum=off', '-c', 'bgwriter_lru_maxpages=0', '-c', 'wal_level=minimal', '-c', 'max_wal_senders=0']);
$db = $server->connect();
(new TokenBucketStoragePDO($db, 'limits'))->prepare();
$written = fn () => $db->query("SELECT pg_current_wal_insert_lsn() - '0/0'")->fetchColumn();
$bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', hints: false), 'b', 5, 1e-4);
$bucket->consume(5);
$bucket->consume();
$db->exec('CHECKPOINT');
$before = $written();
for ($i = 0; $i < 200; $i++) {
    $bucket->consume();
    $bucket->peek();
}
$denied = $written() - $before;
// Every 15 s the server logs the running transactions, which takes about a hundred bytes.
check($denied < 400, "denials: $denied bytes");
$bucket->reset();
$before = $written();
for ($i = 0; $i < 5; $i++) {
    $bucket->consume();
}
$granted = $written() - $before;
check($granted >= 5 * 50, "the control, grants: $granted bytes");
echo "done\n";
?>
--EXPECT--
done

--TEST--
A denial on PostgreSQL writes nothing to the write-ahead log
--EXTENSIONS--
pdo
pdo_pgsql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

// Turns off most of the server's own writes to the log, which would disturb the measurement.
$server = PostgreSqlServer::start(['-c', 'autovacuum=off', '-c', 'bgwriter_lru_maxpages=0', '-c', 'wal_level=minimal', '-c', 'max_wal_senders=0']);
$db = $server->connect();
(new TokenBucketStoragePDO($db, 'limits'))->prepare();
$written = fn () => $db->query("SELECT pg_current_wal_insert_lsn() - '0/0'")->fetchColumn();
$bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'b', 5, 1e-4);
$bucket->consume(5);
$bucket->consume();
$db->exec('CHECKPOINT');
// Every 15 s the server logs the running transactions. So one of several rounds must log nothing.
for ($round = 0, $denied = PHP_INT_MAX; $round < 10 && $denied > 0; $round++) {
    $before = $written();
    for ($i = 0; $i < 50; $i++) {
        $bucket->consume();
        $bucket->peek();
    }
    $denied = min($denied, (int) ($written() - $before));
}
check($denied === 0, "denials: $denied bytes");
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

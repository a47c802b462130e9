--TEST--
Calls through PgBouncer in transaction mode neither fail nor end a transaction
--EXTENSIONS--
pdo
pdo_pgsql
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/sql_servers.php';
PgBouncer::is_installed() || die('skip PgBouncer is not installed');
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = PostgreSqlServer::start();
$setup = $server->connect();
(new TokenBucketStoragePDO($setup, 'limits'))->prepare();
$setup->exec('CREATE TABLE orders (id int)');
unset($setup);
$pool = PgBouncer::before($server);

// Several clients share one connection to the server. Each client has its own storages, and
// destroys some of them inside a transaction.
$limit = is_slow() ? 50 : 300;
$outcomes = in_processes(4, function (int $index, callable $barrier) use ($pool, $limit) {
    $db = $pool->connect();
    $granted = $committed = 0;
    $shared = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'shared', $limit, 1e-6);
    $barrier();
    for ($i = 0; $i < $limit; $i++) {
        $granted += (int) $shared->consume();
        if ($i % 10 === 0) {
            $own = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
            check((new TokenBucket($own, "own $index", $limit, 1e-6))->consume(), 'own');
            $db->beginTransaction();
            $db->exec('INSERT INTO orders VALUES (1)');
            unset($own);
            $shared->peek();
            $committed += (int) $db->commit();
        }
    }
    return [$granted, $committed];
});
check(array_sum(array_column($outcomes, 0)) === $limit, 'granted: ' . json_encode($outcomes));
$orders = (int) $server->connect()->query('SELECT count(*) FROM orders')->fetchColumn();
check($orders === array_sum(array_column($outcomes, 1)) && $orders === 4 * intdiv($limit, 10), "orders: $orders");

// Without a pool, the application itself may discard statements.
foreach (['DEALLOCATE ALL', 'DISCARD ALL'] as $discard) {
    foreach ([true, false] as $emulated) {
        $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
        $bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), $discard, 100, 1e-6);
        foreach (['consume', 'charge', 'peek', 'refund', 'reset', 'consume'] as $method) {
            $bucket->consume();
            $db->exec($discard);
            check(thrown(fn () => $method === 'reset' ? $bucket->reset() : $bucket->$method(1)) === 'nothing thrown', "$discard, $method()");
        }
        check($db->query('SELECT count(*) FROM pg_prepared_statements')->fetchColumn() <= 1, 'none is kept');
        check($db->getAttribute(PDO::ATTR_EMULATE_PREPARES) === $emulated, 'the attribute of the application');
    }
}
echo "done\n";
?>
--EXPECT--
done

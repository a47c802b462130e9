--TEST--
Without autocommit, a call commits its own change and leaves no transaction open
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = MariaDbServer::start(['--innodb-lock-wait-timeout=0']);
$setup = $server->connect();
(new TokenBucketStoragePDO($setup, 'limits'))->prepare();
$setup->exec('CREATE TABLE orders (id int) ENGINE=InnoDB');
$connections = [
    'attribute' => fn () => $server->connect([PDO::ATTR_AUTOCOMMIT => 0]),
    'statement' => function () use ($server) {
        $db = $server->connect();
        $db->exec('SET autocommit = 0');
        return $db;
    },
    'chained' => function () use ($server) {
        $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => false]);
        $db->exec('SET autocommit = 0, completion_type = CHAIN');
        return $db;
    },
];
foreach ($connections as $how => $connect) {
    // Tokens that a request takes stay taken, although the request ends without a commit.
    $granted = 0;
    for ($request = 0; $request < 10; $request++) {
        $granted += (int) (new TokenBucket(new TokenBucketStoragePDO($connect(), 'limits'), "requests $how", 3, 1e-6))->consume();
    }
    check($granted === 3, "$how: granted $granted of 3");

    $db = $connect();
    $storage = new TokenBucketStoragePDO($db, 'limits');
    $bucket = new TokenBucket($storage, "b $how", 100, 1e-6);
    foreach (['consume', 'attempt', 'peek', 'charge', 'refund', 'reset'] as $method) {
        $method === 'reset' ? $bucket->reset() : $bucket->$method(1);
        check(!$db->inTransaction(), "$how, $method(): a transaction is open");
    }
    $storage->purge(1e9);
    $storage->prepare();
    check(thrown(fn () => $db->beginTransaction()) === 'nothing thrown', "$how: beginTransaction()");
    $db->exec('ROLLBACK AND NO CHAIN');
    // A charge leaves a debt. The denial cache also holds this debt, so a storage without one
    // checks the database.
    $charged = new TokenBucket($storage, "charged $how", 2, 1e-6);
    $charged->charge(3);
    $db->exec('ROLLBACK AND NO CHAIN');
    $other = new TokenBucket(new TokenBucketStoragePDO($server->connect(), 'limits', denialCache: false), "charged $how", 2, 1e-6);
    check(!$charged->consume() && !$other->consume(), "$how: the charge is not rolled back");

    // A statement of the application has begun a transaction. The charge is part of it.
    $db->exec('INSERT INTO orders VALUES (1)');
    $inside = new TokenBucket($storage, "inside $how", 2, 1e-6);
    $inside->charge(3);
    check($db->inTransaction(), "$how: it is open");
    $db->exec('ROLLBACK AND NO CHAIN');
    check($inside->consume(), "$how: a rollback gives back, and no denial is cached");
    check((int) $setup->query('SELECT count(*) FROM orders')->fetchColumn() === 0, "$how: not committed");

    // A call that fails leaves no transaction open, either.
    $holder = $server->connect();
    $holder->beginTransaction();
    (new TokenBucket(new TokenBucketStoragePDO($holder, 'limits'), "b $how", 100, 1e-6))->consume();
    check(str_contains(thrown(fn () => $bucket->consume()), '1205'), "$how: a lock timeout");
    check(!$db->inTransaction(), "$how: after a failure");
    $holder->rollBack();
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
A decision joins an open transaction, and a rollback gives its tokens back
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    // Denials are cached only if the name of the table has its schema.
    $schema = ['mysql' => 'test', 'pgsql' => 'public', 'sqlite' => 'main'][$driver];
    $storage = new TokenBucketStoragePDO($db, "$schema.limits", denialCacheMaxAge: 3600.0);
    $storage->prepare();
    $db->exec('CREATE TABLE orders (id int)');
    $bucket = new TokenBucket($storage, 'b', 2, 0.001);

    $db->beginTransaction();
    $db->exec('INSERT INTO orders VALUES (1)');
    check($bucket->consume() && $bucket->consume() && !$bucket->consume(), "$driver: in a transaction");
    check($db->inTransaction(), "$driver: it is open still");
    $storage->prepare();
    check($db->inTransaction(), "$driver: prepare() leaves it open");
    $db->rollBack();
    check($db->query('SELECT count(*) FROM orders')->fetchColumn() == 0, "$driver: nothing of it was committed");
    // The denial in the transaction must not be cached, because the rollback gave tokens back.
    check($bucket->consume(), "$driver: a rollback gives back, and no cached denial stays");
    $db->beginTransaction();
    check($bucket->consume(), "$driver: the last one");
    $db->commit();
    check(!$bucket->consume(), "$driver: a commit keeps");

    // Outside a transaction, the cached denial is returned. Inside a transaction, each call
    // contacts the database.
    $before = TokenBucket\status()['remote'];
    $bucket->consume();
    $after = TokenBucket\status()['remote'];
    $cached = [$after['asked'] - $before['asked'], $after['cached'] - $before['cached']];
    // On SQLite not every transaction can be detected, so no denial is cached there.
    check($cached === ($driver === 'sqlite' ? [1, 0] : [0, 1]), "$driver: cached outside: " . json_encode($cached));
    $db->beginTransaction();
    $bucket->consume();
    $inside = TokenBucket\status()['remote'];
    check($inside['asked'] === $after['asked'] + 1, "$driver: no denial cache inside");
    $db->commit();

    // A rollback to a savepoint of the caller also gives tokens back.
    $bucket->reset();
    $db->beginTransaction();
    $db->exec('SAVEPOINT s');
    check($bucket->consume(2), "$driver: behind a savepoint");
    $db->exec('ROLLBACK TO SAVEPOINT s');
    check($bucket->consume(2), "$driver: as if it had not been");
    $db->commit();

    if ($driver !== 'sqlite') {
        // A decision in a transaction locks the row until the transaction ends.
        $other = $server->connect();
        $other->exec($driver === 'mysql' ? 'SET innodb_lock_wait_timeout = 1' : 'SET lock_timeout = 300');
        $its = new TokenBucket(new TokenBucketStoragePDO($other, 'limits', denialCache: false), 'locked', 2, 0.001);
        $mine = new TokenBucket($storage, 'locked', 2, 0.001);
        $mine->consume();
        $db->beginTransaction();
        $mine->consume();
        $message = thrown(fn () => $its->consume());
        check(str_contains($message, 'StorageException') && stripos($message, 'lock'), "$driver: $message");
        check(!$other->inTransaction(), "$driver: nothing is left open");
        $db->rollBack();
        check($its->consume() && !$its->consume() && !$mine->consume(), "$driver: once it has ended");
        check(TokenBucket\status()['stores'][0]['breaker'] === 'closed', "$driver: a lock is no outage");
    }
    // On MySQL, prepare() refuses to create a table, because CREATE TABLE would commit the
    // transaction.
    $db->beginTransaction();
    $db->exec('INSERT INTO orders VALUES (2)');
    $missing = new TokenBucketStoragePDO($db, 'missing');
    $message = thrown(fn () => $missing->prepare());
    check(
        $driver === 'mysql' ? str_contains($message, 'would commit') : $message === 'nothing thrown',
        "$driver: prepare() of a missing table: $message"
    );
    check($db->inTransaction(), "$driver: is open");
    $db->rollBack();
    check($db->query('SELECT count(*) FROM orders')->fetchColumn() == 0, "$driver: is undone");
    // A limit may be a whole float, such as a result of ceil().
    $whole = new TokenBucket\Quota($storage, 'whole', 3.0, TokenBucket\Period::Year);
    check($whole->attempt(3)->allowed && !$whole->attempt()->allowed, "$driver: a quota of 3.0");
    if ($driver === 'mysql' && !$server->isolates_snapshots()) {
        // A denial describes the current row, and not the row in the snapshot of the transaction.
        $other = $server->connect();
        $its = fn () => new TokenBucket\Quota(new TokenBucketStoragePDO($other, 'limits'), 'snapshot', 10, TokenBucket\Period::Year);
        $mine = new TokenBucket\Quota($storage, 'snapshot', 10, TokenBucket\Period::Year);
        $its()->consume();
        $db->exec('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
        $db->beginTransaction();
        $db->query('SELECT 1 FROM limits')->fetchAll();
        $its()->consume(9);
        $denied = $mine->attempt();
        check(!$denied->allowed && $denied->remaining === 0.0 && $denied->retryAfter > 0, "a denial in a snapshot: $denied->remaining");
        $db->commit();
    }
    if ($driver === 'pgsql') {
        // A call in a failed transaction throws. The transaction stays failed.
        $db->beginTransaction();
        thrown(fn () => $db->exec('SELECT nonsense'));
        check(str_contains(thrown(fn () => $bucket->refund()), '25P02'), 'an aborted transaction');
        $db->rollBack();
        // At REPEATABLE READ a call throws if another transaction has changed the row meanwhile.
        $other = $server->connect();
        $its = new TokenBucket(new TokenBucketStoragePDO($other, 'limits'), 'serial', 9, 0.001);
        $mine = new TokenBucket($storage, 'serial', 9, 0.001);
        $mine->consume();
        $db->exec('BEGIN ISOLATION LEVEL REPEATABLE READ');
        $db->query('SELECT 1 FROM limits')->fetchAll();
        $its->consume();
        check(str_contains(thrown(fn () => $mine->consume()), '40001'), 'a snapshot that is too old');
        $db->exec('ROLLBACK');
        check($mine->peek()->remaining === 7.0, 'and nothing was taken');
    }
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

--TEST--
purge() deletes, a hundred at a time, only buckets that have been full for long enough, and quotas whose windows are over
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
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $driver !== 'mysql']);
    $storage = new TokenBucketStoragePDO($db, 'limits');
    $storage->prepare();
    check($storage->purge(1.0) === 0, "$driver: nothing");
    $fill = function (int $count, float $age, string $head) use ($db) {
        $insert = $db->prepare('INSERT INTO limits (identifier, microtime) VALUES (?, ?)');
        $db->beginTransaction();
        for ($i = 0; $i < $count; $i++) {
            $insert->execute(["$head $i", microtime(true) - $age]);
        }
        $db->commit();
    };
    $left = fn () => (int) $db->query('SELECT count(*) FROM limits')->fetchColumn();
    $fill(1000, 2000, 'old');
    $fill(250, 500, 'new');
    $fill(1, 2000, '');
    // With this attribute, the driver returns null for the empty name of the next row.
    $driver === 'sqlite' && $db->setAttribute(PDO::ATTR_ORACLE_NULLS, PDO::NULL_EMPTY_STRING);
    $db->exec("INSERT INTO limits (identifier, microtime) VALUES ('', 0)");
    check($storage->purge(2000 + 500) === 1 && $left() === 1251, "$driver: only what a reset left");
    if ($driver === 'mysql') {
        // The names in this character set are not those of the rows.
        $other = $server->connect([PDO::ATTR_EMULATE_PREPARES => true]);
        $other->exec('SET character_set_results = utf32');
        echo thrown(fn () => (new TokenBucketStoragePDO($other, 'limits'))->purge(1500)), "\n";
    }
    check($storage->purge(1500) === 1001 && $left() === 250, "$driver: the old ones");
    check($storage->purge(1500) === 0 && $left() === 250, "$driver: not twice");

    // Here the number of rows is a multiple of a hundred. purge() runs in a transaction.
    $fill(200, 2000, 'Even');
    $db->beginTransaction();
    check($storage->purge(1500) === 200 && $db->inTransaction(), "$driver: in a transaction");
    $db->rollBack();
    check($left() === 450 && $storage->purge(200) === 450 && $left() === 0, "$driver: all");

    // purge() does not delete a bucket that is not full, because a deletion would add tokens.
    $slow = new TokenBucket($storage, 'slow', 10, 0.01);
    $slow->consume(10);
    check($storage->purge(1000) === 0 && $slow->peek()->remaining < 10, "$driver: a live bucket stays");
    $slow->reset();
    check($storage->purge(1000) === 1, "$driver: until it is reset");
    $quick = new TokenBucket($storage, 'quick', 10, 100);
    $quick->consume(10);
    usleep(150_000);
    check($storage->purge(0.1) === 1 && $quick->peek()->remaining === 10.0, "$driver: or until it is full");

    // These quotas began long ago and have used their tokens, but their rows stay until their
    // windows are over. A bucket with the same state as the last quota is deleted.
    foreach ([['Year', 364], ['Month', 27], ['Day', 0.9]] as [$period, $days]) {
        $began = (int) (time() - $days * TokenBucket::DAY);
        $quota = new TokenBucket\Quota($storage, $period, 5, constant("TokenBucket\Period::$period"), new DateTimeImmutable("@$began"));
        check($quota->attempt(5)->allowed && !$quota->attempt()->allowed, "$driver: $period");
        $quota->refund(1);
        check($storage->purge(10) === 0 && $quota->peek()->remaining === 1.0, "$driver: $period: the window is not over");
    }
    $fill(1, 0.9 * TokenBucket::DAY, 'bucket');
    check($storage->purge(10) === 1 && $left() === 3, "$driver: a bucket");
    // A year later, all windows are over.
    $db->exec('UPDATE limits SET microtime = microtime + 367 * 86400 WHERE microtime < 0');
    check($storage->purge(TokenBucket::DAY) === 3, "$driver: the windows are over");
    echo "$driver\n";
}
foreach ([-1.0, NAN, INF] as $span) {
    echo thrown(fn () => $storage->purge($span)), "\n";
}
?>
--EXPECT--
TokenBucket\StorageException: mysql table limits: the statement failed: character_set_results must be an extension of ASCII
mysql
pgsql
sqlite
ValueError: TokenBucketStoragePDO::purge(): Argument #1 ($full_microtime) must be greater than or equal to 0
ValueError: TokenBucketStoragePDO::purge(): Argument #1 ($full_microtime) must be finite
ValueError: TokenBucketStoragePDO::purge(): Argument #1 ($full_microtime) must be finite

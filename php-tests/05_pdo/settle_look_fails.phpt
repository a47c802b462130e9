--TEST--
settle() does not throw for a refund that was made, if the numbers cannot be read, unless its transaction is lost
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

/** Fails to look at a bucket. */
final class Blind extends PDO
{
    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        return parent::prepare(str_contains($query, '(SELECT 2 * ') ? 'SELECT 1 FROM missing' : $query, $options);
    }
}

foreach (sql_servers() as $driver => $server) {
    $seen = new TokenBucketStoragePDO($server->connect(), 'limits');
    $seen->prepare();
    foreach ([false, true] as $in_transaction) {
        $direct = new TokenBucket($seen, "in $in_transaction", 9, 0.0001);
        $direct->consume(6);
        $db = $server->connect(class: Blind::class);
        $bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits'), "in $in_transaction", 9, 0.0001);
        if ($in_transaction) {
            $db->beginTransaction();
        }
        try {
            $decision = $bucket->settle(5, 1);
            $result = "$decision->reason, fallback " . (int) $decision->fallback;
        } catch (TokenBucket\StorageException $e) {
            $result = strrchr($e->getMessage(), ';');
        }
        if ($in_transaction) {
            try {
                $db->commit();
            } catch (PDOException) {
            }
        }
        printf("%s, %s: %s, the store has %.0f\n", $driver, $in_transaction ? 'in a transaction' : 'alone', $result, $direct->peek()->remaining);
    }
}
?>
--EXPECT--
mysql, alone: granted, fallback 1, the store has 7
mysql, in a transaction: granted, fallback 1, the store has 7
pgsql, alone: granted, fallback 1, the store has 7
pgsql, in a transaction: ; the open transaction cannot be committed, the store has 3
sqlite, alone: granted, fallback 1, the store has 7
sqlite, in a transaction: granted, fallback 1, the store has 7

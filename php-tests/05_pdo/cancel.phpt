--TEST--
cancel() gives a reservation back after other calls through the same storage
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/**
 * A statement that is sent late, so that the client reads its clock long before the server does.
 */
final class LateStatement extends PDOStatement
{
    public static int $delay = 0;

    protected function __construct()
    {
    }

    public function execute(?array $params = null): bool
    {
        usleep(self::$delay);
        return parent::execute($params);
    }
}

foreach (sql_servers() as $driver => $server) {
    $db = $server->connect([PDO::ATTR_STATEMENT_CLASS => [LateStatement::class]]);
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $storage->prepare();
    $other = new TokenBucket($storage, 'other', 100, 1e-6);
    foreach ([0, 1, 100] as $calls) {
        $bucket = new TokenBucket($storage, "b $calls", 4, 0.01);
        $bucket->consume(4);
        LateStatement::$delay = 200_000;
        $reservation = $bucket->reserve(4);
        LateStatement::$delay = 0;
        for ($i = 0; $i < $calls; $i++) {
            $other->consume($i % 2);
        }
        $reservation->cancel();
        // If cancel() gave back only half of the reservation, a debt of two tokens would be left.
        $left = $bucket->peek()->remaining;
        check($left > -1, "$driver, $calls calls: $left left");
    }
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

--TEST--
A bucket that is full under a short span is full under a longer one, if the table keeps spans
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Returns limits of one bucket. They are full again after 20 milliseconds, and after a month. */
$limits = fn (TokenBucketStorage $storage, string $id) => [
    new TokenBucket($storage, $id, 60, 3000), new TokenBucket($storage, $id, 1000, 1000 / (30 * TokenBucket::DAY)),
];
$eventually = function (callable $condition): bool {
    for ($end = hrtime(true) + 60_000_000_000; !($met = $condition()) && hrtime(true) < $end;) {
        usleep(1000);
    }
    return $met;
};
foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    $storage = new TokenBucketStoragePDO($db, ['mysql' => 'test', 'pgsql' => 'public', 'sqlite' => 'main'][$driver] . '.limits', denialCacheMaxAge: 3600.0);
    $storage->prepare();
    [$short, $long] = $limits($storage, 'customer');
    $short->consume(5);
    check($eventually(fn () => $long->peek()->remaining === 1000.0), "$driver: full under both");
    check($long->consume(1000), "$driver: the whole month");
    // The bucket lacks the tokens of a month now, whatever the calls of the short span do.
    check($eventually(fn () => $short->consume(60)), "$driver: the short span");
    check($eventually(fn () => $short->peek()->remaining === 60.0) && $long->peek()->remaining < 2, "$driver: not full under the long span");
    // A denial is valid only until the bucket is full under the short span.
    [$short, $long] = $limits($storage, 'denied');
    while ($short->consume(60));
    $full = fn () => $long->consume(1000);
    check($full() || $eventually($full), "$driver: a cached denial");
    // A block ends under every limit, too.
    [$short, $long] = $limits($storage, 'blocked');
    $short->block(0.01);
    check($eventually(fn () => $long->peek()->remaining === 1000.0), "$driver: after a block");
    // A token of the long span that is given back fills no bucket, because more than it is lacking.
    foreach (['refund', 'cancel'] as $way) {
        $long = $limits($storage, $way)[1];
        $reservation = $long->reserve();
        $long->reset();
        check((new TokenBucket($storage, $way, 60, 1))->consume(60), "$driver: a $way");
        $way === 'cancel' ? $reservation->cancel() : $long->refund();
        check($long->peek()->remaining < 2, "$driver: after a $way");
    }

    // A storage notices that the table has no such column. A call of the short limit is then all
    // that the long one knows.
    $db->exec('ALTER TABLE limits DROP COLUMN span');
    [$short, $long] = $limits($storage, 'old');
    check($short->consume(60) && $eventually(fn () => $short->consume(60)), "$driver: without the column");
    check($eventually(fn () => $short->peek()->remaining === 60.0) && $long->peek()->remaining < 2, "$driver: as before");
    $long->reset();
    check($long->consume(1000), "$driver: after a reset");
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

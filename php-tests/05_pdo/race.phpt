--TEST--
Processes that race on a database are granted exactly the limit, without exceptions
--EXTENSIONS--
mysqlnd
pcntl
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/races.php';

const PROCESSES = 8;
$slow = is_slow();
$limit = $slow ? 100 : 1000;
$levels = ['mysql' => ['READ COMMITTED', 'REPEATABLE READ'], 'pgsql' => ['READ COMMITTED', 'REPEATABLE READ'], 'sqlite' => ['']];
$set = [
    'mysql' => 'SET SESSION TRANSACTION ISOLATION LEVEL ',
    'pgsql' => 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ',
];
foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    $driver === 'sqlite' && $db->exec('PRAGMA journal_mode = WAL');
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    $db = null;
    // With few calls and short chunks. A call on SQLite sleeps for up to 100 ms while another
    // process holds the lock.
    check_races($driver, fn () => new TokenBucketStoragePDO($server->connect(), 'limits'), 160, 30);
    $purged = 0;
    foreach ($levels[$driver] as $level) {
        $connect = function () use ($server, $driver, $set, $level) {
            $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => false]);
            $driver === 'sqlite' || $db->exec($set[$driver] . $level);
            return $db;
        };
        // All processes take from one bucket until it is empty.
        check_race("$driver $level: consume()", function () use ($connect, $level, $limit) {
            $storage = new TokenBucketStoragePDO($connect(), 'limits', denialCache: false);
            return (new TokenBucket($storage, "one $level", $limit, 1e-6))->consume(...);
        }, $limit, intdiv($limit, PROCESSES) + 10);

        // All processes use new buckets at once.
        $fresh = in_processes(PROCESSES, function ($index, $barrier) use ($connect, $level) {
            $storage = new TokenBucketStoragePDO($connect(), 'limits', denialCache: false);
            for ($granted = $i = 0; $i < 40; $i++) {
                $barrier();
                $granted += (new TokenBucket($storage, "fresh $level $i", 5, 1e-6))->consume() ? 1 : 0;
            }
            return $granted;
        });
        check(array_sum($fresh) === 200, "$driver $level, fresh: " . json_encode($fresh));

        // Calls all methods that change a bucket, on few buckets.
        $calls = $slow ? 50 : ['mysql' => 2_500, 'pgsql' => 500, 'sqlite' => 150][$driver];
        $mixed = function (int $calls, bool $purges) use ($connect, $level) {
            return in_processes(PROCESSES, function ($index) use ($connect, $level, $calls, $purges) {
                mt_srand($index);
                $storage = new TokenBucketStoragePDO($connect(), 'limits', denialCache: false);
                for ($done = 0; $done < $calls; $done++) {
                    $bucket = new TokenBucket($storage, "mixed $level " . mt_rand(0, 20), 50, 1000);
                    match (mt_rand(0, 9)) {
                        0 => $bucket->refund(),
                        1 => $bucket->peek(),
                        2 => $bucket->reset(),
                        3 => $purges && mt_rand(0, 9) === 0 && $storage->purge(0.05),
                        default => $bucket->consume(mt_rand(1, 5)),
                    };
                }
                return $done;
            });
        };
        $done = $mixed($calls, false);
        check(array_sum($done) === PROCESSES * $calls, "$driver $level, mixed: " . json_encode($done));
        if ($driver === 'mysql') {
            $deadlocks = $server->deadlocks();
            check($deadlocks === $purged, "deadlocks: $deadlocks, not $purged");
        }

        // If purge() deletes a row that two calls wait for, InnoDB may end one call because of a
        // deadlock. The storage retries that call, so no exception is thrown.
        $calls = intdiv($calls, 5);
        $done = $mixed($calls, true);
        check(array_sum($done) === PROCESSES * $calls, "$driver $level, with purge(): " . json_encode($done));
        if ($driver === 'mysql') {
            $purged = $server->deadlocks();
        }
    }
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

--TEST--
The userland limiter and the native limiter share a table and keep the limit together
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/userland_pdo.php';

$server = MariaDbServer::start();
$db = $server->connect();
$theirs = new UserlandStoragePDOMySQL($db, 'limits');
$ours = new TokenBucketStoragePDOMySQL($db, 'limits');
// Each storage accepts the table that the other one created. Ours has one column more.
$theirs->prepare();
$ours->prepare();
$columns = $db->query('SHOW COLUMNS FROM limits')->fetchAll(PDO::FETCH_NUM);
$ours_alone = new TokenBucketStoragePDOMySQL($db, 'limits2');
$ours_alone->prepare();
(new UserlandStoragePDOMySQL($db, 'limits2'))->prepare();
$both = $db->query('SHOW COLUMNS FROM limits2')->fetchAll(PDO::FETCH_NUM);
foreach ($columns as $number => $column) {
    check([$column[0], $column[1], $column[3]] === [$both[$number][0], $both[$number][1], $both[$number][3]], json_encode($column));
}
check(preg_match('/^span bigint(\(20\))? YES$/', implode(' ', array_slice($both[2], 0, 3))) === 1, json_encode($both));

// Calls use all four pairs of class and storage in turn.
$makers = [
    'ours on ours' => fn ($id) => new TokenBucket($ours, $id, 10, 0.01),
    'theirs on theirs' => fn ($id) => new UserlandTokenBucket($theirs, $id, 10, 0.01),
    'theirs on ours' => fn ($id) => new UserlandTokenBucket($ours, $id, 10, 0.01),
    'ours on theirs' => fn ($id) => new TokenBucket($theirs, $id, 10, 0.01),
];
mt_srand(7);
for ($round = 0; $round < 20; $round++) {
    $left = 10;
    $names = array_keys($makers);
    shuffle($names);
    for ($call = 0; $call < 12; $call++) {
        $name = $names[$call % 4];
        $count = mt_rand(0, 4);
        $granted = $makers[$name]("round-$round")->consume($count);
        check($granted === ($count <= $left), "round $round, $name: $count of $left");
        $left -= $granted ? $count : 0;
    }
}
$record = (float) $db->query("SELECT microtime FROM limits WHERE identifier = 'round-0'")->fetchColumn();
check($record > microtime(true) - 1000 && $record < microtime(true), "record $record");

// The native storage writes whole microseconds, which a double of PHP holds exactly.
$bucket = $makers['ours on ours']('exact');
$bucket->consume(10);
$a = $db->query("SELECT CAST(ROUND(microtime * 1e6) AS SIGNED) FROM limits WHERE identifier = 'exact'")->fetchColumn();
$b = $db->query("SELECT microtime FROM limits WHERE identifier = 'exact'")->fetchColumn();
check(round($b * 1e6) == $a, "$a $b");

// Half of the processes use the native class. The bucket is created beforehand, because the
// userland class fails if another process creates the missing row.
$limit = is_slow() ? 100 : 1000;
$fleet = function (string $id, int $processes) use ($server, $limit) {
    return in_processes($processes, function (int $index, callable $barrier) use ($server, $id, $limit) {
        $db = $server->connect();
        $bucket = $index % 2 === 0
            ? new TokenBucket(new TokenBucketStoragePDOMySQL($db, 'limits'), $id, $limit, 1e-6)
            : new UserlandTokenBucket(new UserlandStoragePDOMySQL($db, 'limits'), $id, $limit, 1e-6);
        // All processes start together, so that none starts when the tokens are gone.
        $barrier();
        $bucket->consume();
        $barrier();
        for ($granted = 1; $bucket->consume(); $granted++);
        return $granted;
    });
};
$db->exec('DELETE FROM limits');
// Creates the row. A call without a cost would not create it.
(new TokenBucket($ours, 'fleet', $limit, 1e-6))->consume();
check((int) $db->query("SELECT COUNT(*) FROM limits WHERE identifier = 'fleet'")->fetchColumn() === 1, 'the row exists');
$granted = $fleet('fleet', 8);
// The userland class compares with a tolerance of 0.01 %, which allows a debt of up to a tenth of a
// token. That is too little for another call.
check(array_sum($granted) === $limit - 1, 'fleet: ' . json_encode($granted));
// The bucket is empty, so the native class denies the next call.
$ours = new TokenBucketStoragePDOMySQL($server->connect(), 'limits');
check(!(new TokenBucket($ours, 'fleet', $limit, 1e-6))->consume(), 'ours denies');

// Each decision is one statement, according to the server's counters.
$questions = fn ($db, $name = 'Questions') => (int) $db->query("SHOW SESSION STATUS LIKE '$name'")->fetchColumn(1);
// The server also counts the four SHOW statements. Without emulation, PDO prepares these statements
// as well.
foreach ([[true, 'Com_insert', [200, 0, 0, 204]], [false, 'Com_stmt_execute', [204, 0, 4, 204]]] as [$emulated, $name, $expected]) {
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $bucket = new TokenBucket($storage, 'count', 50, 1e-3);
    $bucket->consume();
    $before = [$questions($db, $name), $questions($db, 'Com_select'), $questions($db, 'Com_stmt_prepare'), $questions($db)];
    for ($i = 0; $i < 100; $i++) {
        $bucket->consume();
        $bucket->attempt();
    }
    $after = [$questions($db, $name), $questions($db, 'Com_select'), $questions($db, 'Com_stmt_prepare'), $questions($db)];
    $done = array_map(fn ($a, $b) => $a - $b, $after, $before);
    check($done === $expected, "$name: " . json_encode($done));
}
// A cached denial runs no statement, if the name of the table includes its schema.
$bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'test.limits', denialCacheMaxAge: 3600.0), 'count', 50, 1e-3);
$bucket->consume(50);
$before = $questions($db);
for ($i = 0; $i < 100; $i++) {
    $bucket->consume(50);
}
$asked = $questions($db) - $before;
check($asked <= 3, "asked: $asked");
// A denial writes nothing.
$db = $server->connect();
$bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'count', 50, 1e-3);
$written = fn () => $questions($db, 'Handler_update') + $questions($db, 'Handler_write');
$bucket->consume(50);
$before = $written();
$bucket->consume(50);
$reading = $written() - $before;
$before = $written();
$bucket->refund(1);
$granting = $written() - $before;
check($granting > 0, "the control, a refund: $granting");
// In a denial, the attempted insert finds the row and updates nothing. The server's own threads
// also write to the log at times, so the round with the fewest writes counts.
$logged = function (callable $call) use ($db) {
    $name = MariaDbServer::is_mysql() ? 'Innodb_redo_log_current_lsn' : 'Innodb_lsn_current';
    $position = fn () => (int) $db->query("SHOW STATUS LIKE '$name'")->fetchColumn(1);
    $least = PHP_INT_MAX;
    for ($round = 0; $round < 10; $round++) {
        $before = $position();
        for ($i = 0; $i < 100; $i++) {
            $call();
        }
        $least = min($least, $position() - $before);
        usleep(10_000);
    }
    return $least;
};
$before = $questions($db, 'Handler_update');
$denials = $logged(fn () => $bucket->consume(50));
check($questions($db, 'Handler_update') === $before, 'denials update');
check($denials < 100, "denials log $denials");
$refunds = $logged(fn () => $bucket->refund(0.001));
check($refunds > 1_000, "the control, refunds: $refunds");
echo "done\n";
?>
--EXPECT--
done

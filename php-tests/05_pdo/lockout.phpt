--TEST--
Lockouts in a table are exact between processes and in transactions, and follow the failure policy
--EXTENSIONS--
mysqlnd
pcntl
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\Lockout;
use TokenBucket\OnFailure;

// Ignores PDO's own warnings about lost connections.
set_error_handler(fn () => true);
$levels = ['mysql' => ['READ COMMITTED', 'REPEATABLE READ'], 'pgsql' => ['READ COMMITTED', 'REPEATABLE READ'], 'sqlite' => ['']];
$set = ['mysql' => 'SET SESSION TRANSACTION ISOLATION LEVEL ', 'pgsql' => 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL '];
foreach (sql_servers() as $driver => $server) {
    $connect = function (string $level, array $attributes = []) use ($server, $driver, $set): PDO {
        $db = $server->connect($attributes);
        $driver === 'sqlite' || $db->exec($set[$driver] . $level);
        return $db;
    };
    $db = $server->connect();
    $driver === 'sqlite' && $db->exec('PRAGMA journal_mode = WAL');
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    // A forked child would end the connection.
    $db = null;
    $lockout = function (string $identifier = 'alice', float $block = 900.0, ?PDO $on = null, OnFailure $policy = OnFailure::Throw) use (&$db) {
        return new Lockout(new TokenBucketStoragePDO($on ?? $db, 'limits', $policy), $identifier, 5, $block);
    };
    foreach ($levels[$driver] as $level) {
        // Exactly five of all parallel guesses are allowed, also if each is a transaction.
        foreach (['alone', 'in transactions'] as $mode) {
            $allowed = in_processes(8, function () use ($connect, $lockout, $level, $mode) {
                $db = $connect($level, [PDO::ATTR_TIMEOUT => 60]);
                for ($allowed = 0, $i = 0; $i < 5; $i++) {
                    // A transaction that loses a race is begun again, as applications do.
                    while (true) {
                        try {
                            $mode === 'alone' || $db->beginTransaction();
                            $decision = $lockout("$level $mode", on: $db)->attempt();
                            $mode === 'alone' || $db->commit();
                            $allowed += (int) $decision->allowed;
                            break;
                        } catch (TokenBucket\StorageException $exception) {
                            $mode === 'alone' ? throw $exception : ($db->inTransaction() && $db->rollBack());
                        }
                    }
                }
                return $allowed;
            });
            check(array_sum($allowed) === 5, "$driver $level $mode: " . json_encode($allowed));
        }
    }
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $driver !== 'mysql']);
    $storage = new TokenBucketStoragePDO($db, 'limits');
    foreach ($levels[$driver] as $level) {
        // An old snapshot does not show that the account is locked.
        $old = $connect($level);
        $old->beginTransaction();
        $old->query('SELECT count(*) FROM limits')->fetchAll();
        array_map(fn () => $lockout("snapshot $level")->attempt(), range(1, 5));
        try {
            $reason = $lockout("snapshot $level", on: $old)->attempt()->reason;
        } catch (TokenBucket\StorageException) {
            $reason = 'thrown';
        }
        $old->inTransaction() && $old->rollBack();
        $refuses = $driver === 'sqlite' || $level === 'REPEATABLE READ' && ($driver === 'pgsql' || $server->isolates_snapshots());
        $expected = $refuses ? 'thrown' : 'locked_out';
        check($reason === $expected, "$driver $level: $reason after a snapshot");
    }
    array_map(fn () => $lockout()->attempt(), range(1, 5));
    $denied = $lockout()->attempt();
    check([$denied->reason, round($denied->retryAfter, -1), $denied->remaining] === ['locked_out', 900.0, 0.0], "$driver: " . json_encode($denied));
    check($lockout()->peek()->reason === 'locked_out', "$driver: peek()");
    // The remedy for a clock that was set back ends no block.
    preg_match('/^UPDATE limits SET .*$/m', file_get_contents(__DIR__ . '/../../docs/explanation/exactness.md'), $remedy);
    $db->exec(str_replace(':now', (string) time(), $remedy[0]));
    check($lockout()->attempt()->reason === 'locked_out', "$driver: $remedy[0]");
    // No identifier of a bucket spells the record of a lockout.
    $row = fn (string $identifier) => 'tokenbucket-sha256:' . hash('sha256', $identifier) . '~lockout';
    foreach (['alice', $row('alice')] as $name) {
        check((new TokenBucket($storage, $name, 1, 1))->consume(), "$driver: a bucket $name");
        check(!$lockout()->attempt()->allowed, "$driver: $name");
    }
    // The row stays while the failures count.
    $left = fn () => (int) $db->query("SELECT count(*) FROM limits WHERE identifier LIKE '%~lockout'")->fetchColumn();
    $all = $left();
    check($storage->purge(1.0) >= 0 && $left() === $all && !$lockout()->attempt()->allowed, "$driver: purge() keeps a block");
    $lockout()->succeed();
    $lockout()->succeed();
    check([$lockout()->peek()->remaining, $lockout()->attempt()->remaining] === [5.0, 4.0], "$driver: succeed()");
    // Attempts that are taken back leave no failure.
    for ($i = 0; $i < 10; $i++) {
        check($lockout('down')->cancel($lockout('down')->attempt()), "$driver: cancel() $i");
    }
    check($lockout('down')->peek()->remaining === 5.0, "$driver: attempts that were taken back");
    for ($free = 0; ($attempt = $lockout('thrower')->attempt())->allowed; $free++) {
        $lockout('thrower')->cancel($attempt);
    }
    check($free === 105, "$driver: $free free guesses");
    // After a short block, one attempt is allowed, and the next block is twice as long. When both
    // have ended, the rows of all other lockouts are kept.
    for ($i = 0, $short = $lockout('short', 0.01); $i < 5; $i++) {
        $short->attempt();
    }
    while (!($next = $short->attempt())->allowed);
    $denied = $short->peek();
    check($next->remaining === 0.0 && $denied->retryAfter <= 0.022, "$driver: " . json_encode($denied));
    while (!$short->peek()->allowed);
    usleep(5_000);
    $all = $left();
    $storage->purge(0.001);
    check($left() < $all && $lockout("snapshot {$levels[$driver][0]}")->peek()->reason === 'locked_out', "$driver: purge()");
    // A rollback takes the attempt back.
    $db->beginTransaction();
    $lockout('rolled back')->attempt();
    $db->rollBack();
    check($lockout('rolled back')->peek()->remaining === 5.0, "$driver: a rollback");
    // This row holds the state of a bucket.
    $db->exec("INSERT INTO limits (identifier, microtime) VALUES ('{$row('other')}', 1790000000.5)");
    check(str_contains(thrown(fn () => $lockout('other')->attempt()), 'does not hold a record'), "$driver: other data");
    if ($driver === 'mysql') {
        // Nodes whose clocks differ by an hour end no block of each other early.
        $allowed = [];
        foreach ([3600, 0, 3600, 0, 3600] as $ahead) {
            $db->exec('SET timestamp = ' . time() + $ahead);
            $allowed[] = (new Lockout($storage, 'nodes', 2, 600))->attempt()->allowed;
        }
        $db->exec('SET timestamp = DEFAULT');
        check($allowed === [true, true, false, false, false], 'two clocks: ' . json_encode($allowed));
        // An attempt is two statements, and a denial is one.
        $sent = fn () => array_column($db->query("SHOW SESSION STATUS WHERE Variable_name IN ('Com_insert', 'Com_select')")->fetchAll(), 'Value');
        foreach ([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [0, 1]] as $number => $expected) {
            $before = $sent();
            $lockout('counted')->attempt();
            $found = array_map(fn ($now, $then) => $now - $then, $sent(), $before);
            check($found === $expected, "attempt $number: " . json_encode($found));
        }
    }
    if ($driver !== 'sqlite') {
        $server->kill();
        // With Local, the host's own lockout decides, which has seen no attempt.
        foreach ([[OnFailure::Local, [5, 'locked_out']], [OnFailure::Allow, [7, 'granted']], [OnFailure::Deny, [0, 'unavailable']]] as [$policy, $expected]) {
            $decisions = array_map(fn () => $lockout(policy: $policy)->attempt(), range(1, 7));
            $found = [count(array_filter(array_column($decisions, 'allowed'))), end($decisions)->reason];
            check($found === $expected && end($decisions)->fallback, "$driver: $policy->name " . json_encode($found));
            // The host takes back what it has counted.
            check($lockout(policy: $policy)->cancel($decisions[0]) === ($policy === OnFailure::Local), "$driver: $policy->name");
        }
        check(str_starts_with(thrown(fn () => $lockout()->attempt()), 'TokenBucket\StorageException'), "$driver: Throw");
        $lockout(policy: OnFailure::Local)->succeed();
        check($lockout(policy: OnFailure::Local)->peek()->remaining === 5.0, "$driver: succeed() clears the host's own lockout");
    }
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite

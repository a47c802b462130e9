<?php
/**
 * A decision on MariaDB: by our class, by the same upsert written in PHP, and as the well-known userland class
 * takes it. Rounds take turns; a ratio is taken round by round.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../php-tests/sql_servers.inc.php';
require __DIR__ . '/../php-tests/document_000.inc.php';
require __DIR__ . '/../php-tests/document_000_pdo.inc.php';

const ROUNDS = 100;
const CAPACITY = 1_000_000_000;
const RATE = 1000;

/** The statement of our class, by hand. Costs and spans in microseconds. */
final class Upsert
{
    private const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
    private const STATE = 'CAST(LEAST(GREATEST(ROUND(COALESCE(microtime, 9e9) * 1e6), -9e15), 9e15) AS SIGNED)';
    private const TAG = (1 << 62) + (4 << 54);

    private readonly PDOStatement $statement;

    public function __construct(private readonly PDO $db)
    {
        [$now, $state] = [self::NOW, self::STATE];
        $this->statement = $db->prepare(
            "INSERT INTO `limits` (identifier, microtime) VALUES (?, IF(LAST_INSERT_ID(?), $now - ?, 0) / 1e6) "
            . "ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(? + 4 * ($now - $state)) >= ?, "
            . "GREATEST($now - ?, $state + ?) / 1e6, microtime)"
        );
    }

    public function take(string $identifier, int $cost, int $burst): bool
    {
        $this->statement->bindValue(1, $identifier);
        $numbers = [self::TAG + 3, $burst - $cost, self::TAG, self::TAG + 4 * $cost, $burst - $cost, $cost];
        foreach ($numbers as $place => $number) {
            $this->statement->bindValue($place + 2, $number, PDO::PARAM_INT);
        }
        $this->statement->execute();
        $answer = (int) $this->db->lastInsertId() - self::TAG;
        return $answer === 3 || $answer >= 4 * $cost;
    }
}

$server = MariaDbServer::start();
foreach (['emulated' => true, 'native' => false] as $mode => $emulated) {
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $storage = new TokenBucketStoragePDO($db, 'limits', hints: false);
    $storage->prepare();
    $upsert = new Upsert($db);
    $userland = new UserlandStoragePDOMySQL($db, 'limits');
    foreach (['granted', 'denied'] as $what) {
        $burst = intdiv(CAPACITY * 1_000_000, RATE);
        $cost = $what === 'granted' ? 1 : CAPACITY;
        $ours = new TokenBucket($storage, "ours $what $mode", CAPACITY, RATE);
        $theirs = new UserlandTokenBucket($userland, "theirs $what $mode", CAPACITY, RATE);
        foreach ([fn ($n) => $ours->consume($n), fn ($n) => $upsert->take("hand $what $mode", $n * 1000, $burst), fn ($n) => $theirs->consume($n)] as $take) {
            $take(intdiv(CAPACITY, 2)) || exit("The measurement is void: a full bucket denies.\n");
            $take($cost) === ($what === 'granted') || exit("The measurement is void: not $what.\n");
        }
        $micros = $cost * 1000;
        $rows = [
            'ours' => new Row('TokenBucketStoragePDO', '$ours->consume($cost)', compact('ours', 'cost'), 5),
            'hand' => new Row('the same upsert in PHP', '$upsert->take($id, $micros, $burst)', compact('upsert', 'micros', 'burst') + ['id' => "hand $what $mode"], 5),
            'theirs' => new Row('the userland class', '$theirs->consume($cost)', compact('theirs', 'cost'), 1),
        ];
        measure(array_values($rows), ROUNDS);
        printf("\n%-44s %9s %17s %12s\n", "MariaDB, $mode, $what", 'median us', 'p10 to p90', 'x by hand');
        foreach ($rows as $name => $row) {
            $us = fn (float $part) => quantile($row->samples, $part) / 1000;
            $ratio = $row->ratio($rows['hand'], 0);
            $target = $name === 'ours' ? sprintf('  target 1.10: %s', $ratio <= 1.1 ? 'met' : 'MISSED') : '';
            printf("%-44s %9.1f %8.1f %8.1f %12.3f%s\n", $row->name, $us(0.5), $us(0.1), $us(0.9), $ratio, $target);
        }
    }
}

--TEST--
attemptAll() on databases gives back at most the tokens that are still missing
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A statement that runs code instead of charging a bucket, and then fails. */
final class FailingStatement extends PDOStatement
{
    public static ?Closure $meanwhile = null;

    protected function __construct()
    {
    }

    public function execute(?array $params = null): bool
    {
        if (self::$meanwhile !== null && str_starts_with($this->queryString, 'INSERT')) {
            (self::$meanwhile)();
            throw new PDOException('no');
        }
        return parent::execute($params);
    }
}

$failing = new PDO('sqlite::memory:', options: [PDO::ATTR_STATEMENT_CLASS => [FailingStatement::class]]);
$other = new TokenBucketStoragePDO($failing, 'limits', denialCache: false);
$other->prepare();
/** Runs a batch that takes $tokens and fails. $meanwhile runs before the tokens are given back. */
$undo = function (TokenBucket $bucket, int $tokens, Closure $meanwhile) use ($other): void {
    FailingStatement::$meanwhile = $meanwhile;
    $said = thrown(fn () => TokenBucket::attemptAll([$bucket, new TokenBucket($other, 'other', 1000, 1)], $tokens));
    FailingStatement::$meanwhile = null;
    check(str_starts_with($said, 'TokenBucket\StorageException'), "the batch fails: $said");
};

/**
 * Returns the whole tokens of a bucket. Adds a hundredth, because a database may read a clock that
 * is some milliseconds old.
 */
$left = function (TokenBucket $bucket): float {
    $bucket->refund(0.01);
    return $bucket->peek()->remaining;
};

foreach (sql_servers() as $driver => $server) {
    foreach ([true, false] as $emulated) {
        $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
        $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
        $storage->prepare();
        $where = $driver . ($emulated ? ', emulated' : '');
        $state = fn (string $id) => $db->query("SELECT microtime FROM limits WHERE identifier = '$id'")->fetchColumn();

        // The bucket is full again after 20 ms. Then another call empties the bucket. So nothing is
        // given back.
        $quick = new TokenBucket($storage, "quick $where", 10, 500);
        $before = null;
        $undo($quick, 10, function () use ($quick, $state, $where, &$before) {
            usleep(50_000);
            check($quick->consume(10), "$where: full again");
            $before = $state("quick $where");
        });
        check($state("quick $where") === $before, "$where: given back though nothing was missing");

        // A part of the tokens is refilled, so the batch gives back only the others.
        $part = new TokenBucket($storage, "part $where", 10, 10);
        $start = hrtime(true);
        $undo($part, 10, function () use ($part, $state, $where, &$before) {
            usleep(250_000);
            check($part->consume(2), "$where: two are refilled");
            $before = $state("part $where");
        });
        // Allows 0.05 s, because a database may read a clock that is some milliseconds old.
        $least = 0.95 - (hrtime(true) - $start) / 1e9;
        $returned = $before - $state("part $where");
        check($returned <= 0.8 && $returned >= $least, "$where: returned $returned s of at most 0.8 s and at least $least s");

        // No token is refilled meanwhile, so the batch gives back all tokens that it took.
        $slow = new TokenBucket($storage, "slow $where", 10, 0.01);
        check($slow->consume(2), "$where: two for good");
        $undo($slow, 5, fn () => null);
        check($left($slow) === 8.0, "$where: the rest");
        check($db->inTransaction() === false, "$where: no transaction");

        // Another call reserves a token meanwhile, which leaves a debt of one token. The batch
        // gives back all of its ten tokens but one.
        $behind = new TokenBucket($storage, "behind $where", 10, 0.001);
        $undo($behind, 10, fn () => $behind->reserve(1));
        $rest = $left($behind);
        check($rest === 8.0, "$where: a reservation comes between: $rest");
    }

    // Another process locks the row, so giving back must wait. Before that process releases the
    // lock, it takes all tokens, which have been refilled. So nothing is given back.
    $db = $server->connect();
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $bucket = new TokenBucket($storage, 'locked', 10, 20);
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    if (($pid = pcntl_fork()) === 0) {
        fread($its, 1);
        $db = $server->connect();
        $rival = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'locked', 10, 20);
        $db->exec($driver === 'sqlite' ? 'BEGIN IMMEDIATE' : 'BEGIN');
        $db->exec("UPDATE limits SET microtime = microtime WHERE identifier = 'locked'");
        fwrite($its, 'L');
        usleep(600_000);
        $rival->consume(10) || fwrite($its, 'not full');
        $before = $db->query("SELECT microtime FROM limits WHERE identifier = 'locked'")->fetchColumn();
        $db->exec('COMMIT');
        fwrite($its, "$before\n");
        exec('kill -KILL ' . getmypid());
    }
    $undo($bucket, 10, function () use ($mine) {
        fwrite($mine, 'G');
        fread($mine, 1);
    });
    $before = trim(fgets($mine));
    $state = $db->query("SELECT microtime FROM limits WHERE identifier = 'locked'")->fetchColumn();
    check((string) $state === $before, "$driver, locked: $state, not $before");
    pcntl_waitpid($pid, $status);
    echo "$driver\n";
}

// While the store is down, the batch takes tokens from the fallback and gives tokens back to the
// fallback.
$redis = RedisServer::start();
$redis->kill();
$far = new TokenBucketStorageRedis("unix://$redis->socket", onFailure: TokenBucket\OnFailure::Local, denialCache: false);
$bucket = new TokenBucket($far, 'x', 5, 0.001);
@$undo($bucket, 4, fn () => check($bucket->peek()->remaining === 1.0, 'local: taken'));
check($bucket->peek()->remaining === 5.0, 'local: given back');
echo "local\n";
?>
--EXPECT--
mysql
pgsql
sqlite
local

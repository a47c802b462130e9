<?php
/**
 * Compares buckets in a table, all on one connection: the userland class, our class, and the upsert
 * of our class, sent by PHP code. That code prepares the statement once and binds its values one by
 * one. It reads only the verdict from the result.
 */

/** A PDO that keeps the text of each prepared statement. */
final class ListeningPDO extends PDO
{
    /** @var list<string> */
    public array $texts = [];

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        $this->texts[] = $query;
        return parent::prepare($query, $options);
    }
}

abstract class UpsertByHand
{
    private const NAME = 'by hand';
    protected readonly PDOStatement $statement;

    /**
     * @param ListeningPDO $listening another connection, on which our class prepares its statement
     */
    final public function __construct(protected readonly PDO $db, ListeningPDO $listening)
    {
        $storage = new TokenBucketStoragePDO($listening, 'limits', denialCache: false);
        (new TokenBucket($storage, self::NAME, 10, 1))->consume();
        $text = $listening->texts[0];
        must(str_contains($text, 'INSERT') && substr_count($text, '?') === static::PLACES, "unexpected statement: $text");
        $this->statement = $db->prepare($text);
    }

    /** Takes tokens. Returns true if granted. The cost and the span are in microseconds. */
    abstract public function take(string $identifier, int $cost, int $burst): bool;
}

/** Reads the verdict from the last insert id, which is a tag plus a number. */
final class MySqlUpsert extends UpsertByHand
{
    protected const PLACES = 7;
    private const TAG = (1 << 62) + (4 << 54);

    public function take(string $identifier, int $cost, int $burst): bool
    {
        $slack = $burst - $cost;
        $this->statement->bindValue(1, $identifier);
        $this->statement->bindValue(2, self::TAG + 3, PDO::PARAM_INT);
        $this->statement->bindValue(3, $slack, PDO::PARAM_INT);
        $this->statement->bindValue(4, self::TAG, PDO::PARAM_INT);
        $this->statement->bindValue(5, self::TAG + 4 * $cost, PDO::PARAM_INT);
        $this->statement->bindValue(6, $slack, PDO::PARAM_INT);
        $this->statement->bindValue(7, $cost, PDO::PARAM_INT);
        $this->statement->execute();
        $answer = (int) $this->db->lastInsertId() - self::TAG;
        return $answer === 3 || $answer >= 4 * $cost;
    }
}

/**
 * Reads the verdict from a row. Its columns are the clock, the state of the bucket, a flag that is
 * set if the call is granted, and a flag that is set if the verdict is certain.
 */
final class PgSqlUpsert extends UpsertByHand
{
    protected const PLACES = 7;

    public function take(string $identifier, int $cost, int $burst): bool
    {
        $slack = $burst - $cost;
        do {
            $this->statement->bindValue(1, $cost, PDO::PARAM_INT);
            $this->statement->bindValue(2, $identifier);
            $this->statement->bindValue(3, $identifier);
            $this->statement->bindValue(4, $slack, PDO::PARAM_INT);
            $this->statement->bindValue(5, $slack, PDO::PARAM_INT);
            $this->statement->bindValue(6, $cost, PDO::PARAM_INT);
            $this->statement->bindValue(7, $cost, PDO::PARAM_INT);
            $this->statement->execute();
            $row = $this->statement->fetch(PDO::FETCH_NUM);
            $this->statement->closeCursor();
        } while ((int) $row[3] === 0);
        return (int) $row[2] === 1;
    }
}

/**
 * Uses the clock of the host. The upsert returns a row if the call is granted. If it returns no
 * row, the call is denied, and a second statement reads the time to wait.
 */
final class SqliteUpsert extends UpsertByHand
{
    protected const PLACES = 9;
    private PDOStatement $look;
    public int $denied_for = 0;

    private function look(string $identifier, int $now): bool
    {
        $this->look ??= $this->db->prepare('SELECT CAST(ROUND(microtime * 1000000) AS INTEGER) FROM limits WHERE identifier = ?');
        $this->look->bindValue(1, $identifier);
        $this->look->execute();
        $this->denied_for = $now - $this->look->fetch(PDO::FETCH_NUM)[0];
        $this->look->closeCursor();
        return false;
    }

    public function take(string $identifier, int $cost, int $burst): bool
    {
        $now = (int) (microtime(true) * 1e6);
        $slack = $burst - $cost;
        $this->statement->bindValue(1, $identifier);
        $this->statement->bindValue(2, $now, PDO::PARAM_INT);
        $this->statement->bindValue(3, $slack, PDO::PARAM_INT);
        $this->statement->bindValue(4, $now, PDO::PARAM_INT);
        $this->statement->bindValue(5, $slack, PDO::PARAM_INT);
        $this->statement->bindValue(6, $cost, PDO::PARAM_INT);
        $this->statement->bindValue(7, $now, PDO::PARAM_INT);
        $this->statement->bindValue(8, $cost, PDO::PARAM_INT);
        $this->statement->bindValue(9, $now, PDO::PARAM_INT);
        $this->statement->execute();
        $row = $this->statement->fetch(PDO::FETCH_NUM);
        // The database is locked until the cursor is closed.
        $this->statement->closeCursor();
        return $row !== false || $this->look($identifier, $now);
    }
}

/** The microseconds that refill a token, and those that refill a full bucket. */
const COST = 1_000_000;
const BURST = MUCH * COST;
/** The cost and span, in microseconds, of a bucket whose one token is refilled in eleven days. */
const SLOW = COST * 1_000_000;

/** @return array<string, Row> granted and denied, by hand and by our class */
function upsert_rows(PDO $db, UpsertByHand $upsert, string $place): array
{
    $rows = [];
    $variables = ['upsert' => $upsert];
    foreach (['granted' => [COST, BURST], 'denied' => [SLOW, SLOW]] as $what => [$cost, $burst]) {
        $call = "\$upsert->take('hand $what $place', $cost, $burst)";
        begin(fn () => evaluate($call, $variables), $what === 'granted');
        $rows["hand, $what"] = new Row("the upsert by hand, $what", $call, $variables, 1);
    }
    $storage = $upsert instanceof MySqlUpsert ? new TokenBucketStoragePDOMySQL($db, 'limits') : new TokenBucketStoragePDO($db, 'limits');
    $asking = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    $caching = new TokenBucketStoragePDO($db, 'limits', denialCacheMaxAge: DENIAL_CACHE_AGE);
    return $rows + [
        'ours, granted' => row_of_bucket('TokenBucket, granted', $storage, "ours granted $place", true, 1),
        'ours, denied' => row_of_bucket('TokenBucket, denied, no denial cache', $asking, "ours denied $place", false, 1),
        'ours, cached' => row_of_bucket('TokenBucket, denied from the cache', $caching, "cached denied $place", false, MANY_TURNS),
    ];
}

function row_of_bucket(string $name, TokenBucketStorage $storage, string $identifier, bool $grants, int $turns): Row
{
    $bucket = new TokenBucket($storage, $identifier, $grants ? MUCH : 1, $grants ? 1 : 1e-6);
    begin(fn () => $bucket->consume(), $grants);
    return new Row($name, '$bucket->consume()', ['bucket' => $bucket], $turns);
}

/** @return array<string, Row> granted and denied, in transactions of the userland storage */
function transaction_rows(PDO $db, string $place): array
{
    $rows = [];
    $storage = new UserlandStoragePDOMySQL($db, 'limits');
    foreach (['granted' => true, 'denied' => false] as $what => $grants) {
        $bucket = new UserlandTokenBucket($storage, "user $what $place", $grants ? MUCH : 1, $grants ? 1 : 1e-6);
        begin(fn () => $bucket->consume(), $grants);
        $rows["userland, $what"] = new Row("userland class, $what", '$bucket->consume()', ['bucket' => $bucket], 1);
    }
    return $rows;
}

/** @param class-string<UpsertByHand> $by_hand */
function measure_table(string $title, MariaDbServer|PostgreSqlServer|SqliteFile $server, string $by_hand, ?bool $emulate = null): void
{
    $db = $server->connect($emulate === null ? [] : [PDO::ATTR_EMULATE_PREPARES => $emulate]);
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    $place = $emulate === false ? 'native' : 'plain_';
    $rows = upsert_rows($db, new $by_hand($db, $server->connect([], ListeningPDO::class)), $place);
    if ($server instanceof MariaDbServer) {
        $rows += transaction_rows($db, $place);
    }
    if ($server instanceof SqliteFile) {
        // Denials of SQLite are not cached.
        unset($rows['ours, cached']);
    }
    $before = TokenBucket\status()['remote'];
    sample_shuffled($rows, ROUNDS, SAMPLES, LEAST);
    $counted = TokenBucket\status()['remote'];
    $cached = $rows['ours, cached']->calls ?? 0;
    must($counted['cached'] - $before['cached'] === $cached, 'not every denial came from the denial cache');
    must($counted['asked'] - $before['asked'] === $rows['ours, granted']->calls + $rows['ours, denied']->calls, 'the denial cache replaced a query');
    must($counted['failed'] === $before['failed'], 'a database failed');
    title($title);
    foreach (['granted', 'denied'] as $what) {
        [$ours, $hand, $userland] = [$rows["ours, $what"], $rows["hand, $what"], $rows["userland, $what"] ?? null];
        if ($userland !== null) {
            report($userland);
            report_rival($ours, $userland);
            if ($what === 'denied') {
                report_rival($rows['ours, cached'], $userland);
            }
        }
        report($hand);
        report($ours, $hand, 1.1);
    }
    if ($userland === null) {
        isset($rows['ours, cached']) && report_rival($rows['ours, cached'], $rows['hand, denied']);
    }
}

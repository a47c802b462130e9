<?php
/**
 * The upsert that TokenBucketStoragePDO sends, as one would write it in PHP: prepared once, values bound one by
 * one, and of the answer no more is read than whether the tokens were taken.
 */

/** Hears what is prepared. */
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

    /** @param ListeningPDO $listening another connection, for what our class prepares on it */
    final public function __construct(protected readonly PDO $db, ListeningPDO $listening)
    {
        $storage = new TokenBucketStoragePDO($listening, 'limits', hints: false);
        (new TokenBucket($storage, self::NAME, 10, 1))->consume();
        $text = $listening->texts[0];
        must(str_contains($text, 'INSERT') && substr_count($text, '?') === static::PLACES, "another statement: $text");
        $this->statement = $db->prepare($text);
    }

    /** Spans in microseconds. */
    abstract public function take(string $identifier, int $cost, int $burst): bool;
}

/** The answer is the id that was inserted last: a mark, and four times the bucket's age or more. */
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

/** The answer is a row: the clock, the bucket's state, whether it was granted, whether that is certain. */
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

/** The clock is the host's. The answer is a row, or none for a denial: then a second statement tells for how long. */
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
        // The database is locked until then.
        $this->statement->closeCursor();
        return $row !== false || $this->look($identifier, $now);
    }
}

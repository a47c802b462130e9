<?php
/**
 * Defines the controls of taking ahead: limiters on Redis that keep the next place in the queue of
 * a bucket, and use it by a wrong rule. The judge must find that the log of each breaks a rule.
 */
require_once __DIR__ . '/controls.inc.php';

/** A bucket that is one instant. If it is empty, the host takes the next token ahead. */
abstract class PlaceInQueue extends Control
{
    /** The seconds by which a token is taken ahead at most. */
    protected const AHEAD = 0.5;
    /** The capacity of the bucket. */
    protected const CAPACITY = 4;

    /** @var ?array{due: float, end: float} the place, in seconds of hrtime() */
    private ?array $place = null;

    /** Reports whether the place may be used. */
    abstract protected function is_usable(float $now, float $due, float $end): bool;

    public function take(array $bucket, float $cost): array
    {
        [$id, $capacity, $rate] = $bucket;
        $now = hrtime(true) / 1e9;
        if ($this->place !== null) {
            if ($this->is_usable($now, ...$this->place)) {
                $this->place = null;
                return [CallLog::DONE, 0];
            }
            if ($now < $this->place['due']) {
                return [CallLog::EXCUSED, $this->place['due'] - $now];
            }
            $this->place = null;
        }
        $next = $this->empty_at("b$id", $now - $capacity / $rate) + $cost / $rate;
        if ($next > $now + static::AHEAD) {
            return [CallLog::EXCUSED, $next - $now];
        }
        $this->wire->ask(sprintf('SET b%d %.9F', $id, $next));
        if ($next <= $now) {
            return [CallLog::DONE, 0];
        }
        $this->place = ['due' => $next, 'end' => $next + ($capacity - $cost) / $rate];
        return [CallLog::EXCUSED, $next - $now];
    }

    public function reset(array $bucket): void
    {
        $this->wire->ask("DEL b$bucket[0]");
    }

    /** Empties the bucket and takes a place. Returns a caller without the place, and the host's. */
    protected static function queue(History $history, array $bucket): array
    {
        $wire = self::redis();
        [$other, $host] = [$history->caller(new static($wire())), $history->caller(new static($wire()))];
        $other->take($bucket, static::CAPACITY);
        $host->take($bucket);
        $history->happened('place taken', $host->limiter->place !== null);
        return [$other, $host];
    }

    /** Takes all tokens, and then uses the place. */
    protected static function take_all_and_use(History $history, array $bucket, Caller $other, Caller $host): void
    {
        $taken = $other->take($bucket, static::CAPACITY)[0] === CallLog::DONE;
        $history->happened('place used', $taken && $host->take($bucket)[0] === CallLog::DONE);
    }
}

/** Uses the place before its tokens are there. */
final class PlaceBeforeDue extends PlaceInQueue
{
    protected function is_usable(float $now, float $due, float $end): bool
    {
        return true;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, 2);
        [, $host] = self::queue($history, $bucket);
        $history->happened('place used', $host->take($bucket)[0] === CallLog::DONE);
    }
}

/** Uses the place although it is older than the time in which the bucket becomes full. */
class PlaceWithoutEnd extends PlaceInQueue
{
    protected function is_usable(float $now, float $due, float $end): bool
    {
        return $now >= $due;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, 20);
        [$other, $host] = self::queue($history, $bucket);
        usleep(300_000);
        self::take_all_and_use($history, $bucket, $other, $host);
    }
}

/** Uses the place for a fixed time after its tokens are there, as a lease. */
final class LeasedPlace extends PlaceWithoutEnd
{
    private const LEASE = 1.0;

    protected function is_usable(float $now, float $due, float $end): bool
    {
        return $now >= $due && $now < $due + self::LEASE;
    }
}

/** Keeps the place when its own host fills the bucket. */
class PlaceAfterReset extends PlaceInQueue
{
    protected function is_usable(float $now, float $due, float $end): bool
    {
        return $now >= $due && $now < $end;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, 4);
        [$other, $host] = self::queue($history, $bucket);
        $host->reset($bucket);
        usleep(300_000);
        self::take_all_and_use($history, $bucket, $other, $host);
    }
}

/** Keeps the place when its own host blocks the bucket. */
final class PlaceAfterBlock extends PlaceAfterReset
{
    public const ALLOWANCES = parent::ALLOWANCES . "ahead 1000000000\nhost 2 1\n";
    public const RULE = '4';

    public function drain(array $bucket, float $tokens, float $block): array
    {
        $this->wire->ask(sprintf('SET b%d %.9F', $bucket[0], hrtime(true) / 1e9 + $block));
        return [CallLog::DONE, 0];
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, 4);
        [, $host] = self::queue($history, $bucket);
        $host->drain($bucket, 1, 3.0);
        usleep(300_000);
        $history->happened('place used', $host->take($bucket)[0] === CallLog::DONE);
    }
}

/** Denies calls because of a place that has ended. */
final class PlaceForEver extends Control
{
    public const ALLOWANCES = parent::ALLOWANCES . "ahead 100000000\n";
    public const RULE = '2';

    public function take(array $bucket, float $cost): array
    {
        return [CallLog::DENIED, 0.1];
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(40, 100);
        $now = hrtime(true);
        (new CallLog($history->folder, 'stored'))->stored($now, $now, $bucket[0], 1, 0.1, true);
        usleep(300_000);
        $denied = $history->caller(new self(self::redis()()))->take($bucket);
        $history->happened('denied', $denied[0] === CallLog::DENIED);
    }
}

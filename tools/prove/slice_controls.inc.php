<?php
/**
 * Defines the controls of slices: limiters on Redis that take tokens ahead of a bucket that is not
 * used up, and use them by a wrong rule. The judge must find that the log of each breaks a rule.
 */
require_once __DIR__ . '/controls.inc.php';

/** A bucket that is one instant. With a call, the host takes tokens that it uses later. */
abstract class Slice extends Control
{
    /** The seconds for which a slice may be used. */
    protected const LIFE = 0.05;
    /** The tokens of a slice, and the capacity and rate of the bucket. */
    protected const EXTRA = 8;
    protected const CAPACITY = 40;
    protected const RATE = 100;

    private float $left = 0;
    private float $end = 0;

    /** Reports whether the slice may be used. */
    protected function is_usable(float $now, float $end): bool
    {
        return $now < $end;
    }

    /** Returns the milliseconds for which a full bucket's record is kept after it became full. */
    protected function rest(float $span): int
    {
        return (int) ceil($span * 1000);
    }

    public function take(array $bucket, float $cost): array
    {
        [$id, $capacity, $rate] = $bucket;
        $name = 'b' . ($bucket['name'] ?? $id);
        $now = hrtime(true) / 1e9;
        if ($this->left >= $cost && $this->is_usable($now, $this->end)) {
            $this->left -= $cost;
            return [CallLog::DONE, 0];
        }
        $span = $capacity / $rate;
        $next = $this->empty_at($name, $now - $span) + $cost / $rate;
        if ($next > $now) {
            return [CallLog::EXCUSED, $next - $now];
        }
        $last = max($next, $now - $span + static::LIFE) + self::EXTRA / $rate;
        if ($last <= $now) {
            [$next, $this->left, $this->end] = [$last, self::EXTRA, $now + static::LIFE];
        }
        $this->wire->ask(sprintf('SET %s %.9F PX %d', $name, $next, $this->rest($span)));
        return [CallLog::DONE, 0];
    }

    public function reset(array $bucket): void
    {
        $this->wire->ask("DEL b$bucket[0]");
    }

    /** Takes a slice. Returns a caller without the slice, and the host's. */
    protected static function slice(History $history, array $bucket): array
    {
        $wire = self::redis();
        [$other, $host] = [$history->caller(new static($wire())), $history->caller(new static($wire()))];
        $host->take($bucket);
        $history->happened('slice taken', $host->limiter->left > 0);
        return [$other, $host];
    }

    /** Takes nearly all tokens at once, and then uses the slice. */
    protected static function take_all_and_use(History $history, array $bucket, Caller $other, Caller $host): void
    {
        $taken = $other->take($bucket, self::CAPACITY - 1)[0] === CallLog::DONE;
        $history->happened('slice used', $taken && $host->take($bucket, self::EXTRA)[0] === CallLog::DONE);
    }
}

/** Uses the slice although its tokens have been refilled since. */
final class SliceWithoutEnd extends Slice
{
    protected function is_usable(float $now, float $end): bool
    {
        return true;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, self::RATE);
        [$other, $host] = self::slice($history, $bucket);
        usleep(500_000);
        self::take_all_and_use($history, $bucket, $other, $host);
    }
}

/** Keeps the slice when its own host fills the bucket. */
final class SliceAfterReset extends Slice
{
    protected const LIFE = 0.3;

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, self::RATE);
        [$other, $host] = self::slice($history, $bucket);
        $host->reset($bucket);
        self::take_all_and_use($history, $bucket, $other, $host);
    }
}

/** Lets the server forget the bucket while the slice may still be used. */
final class SliceOfShortRecord extends Slice
{
    protected const LIFE = 0.3;

    protected function rest(float $span): int
    {
        return 1;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(self::CAPACITY, self::RATE);
        [$other, $host] = self::slice($history, $bucket);
        usleep(5_000);
        self::take_all_and_use($history, $bucket, $other, $host);
    }
}

/** Uses the slice for calls under a limit with a shorter span, for which it is too old. */
final class SliceOfOtherLimit extends Slice
{
    public static function run(History $history): void
    {
        [$long, $short] = $history->limits([self::CAPACITY, self::RATE], [2, self::RATE]);
        [, $host] = self::slice($history, $long);
        $history->happened('slice used', $host->take($short, self::EXTRA)[0] === CallLog::DONE);
    }
}

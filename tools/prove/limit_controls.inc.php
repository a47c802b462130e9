<?php
/**
 * Defines the controls of quotas, lockouts and floors: known-bad limiters, as applications use
 * them. The judge must find that the log of each of them breaks a rule.
 */
require_once __DIR__ . '/controls.inc.php';

/**
 * A window on Redis that begins at its first call, and not at an instant of the calendar. A key
 * that expires counts the tokens. Tokens of a denied call are given back.
 */
final class FirstHitWindow extends Control
{
    public const RULE = 'quotas 2';

    /** The length of a window in milliseconds. */
    private const LENGTH = 60_000;

    public function take(array $bucket, float $cost): array
    {
        [$id, $limit] = $bucket;
        $count = (int) substr($this->wire->ask("INCRBY w$id $cost"), 1);
        if ($count === (int) $cost) {
            $this->wire->ask("PEXPIRE w$id " . self::LENGTH);
        }
        if ($count <= $limit) {
            return [CallLog::DONE, 0];
        }
        $this->wire->ask("DECRBY w$id $cost");
        $rest = (int) substr($this->wire->ask("PTTL w$id"), 1);
        return [CallLog::DENIED, $rest / 1000];
    }

    public static function run(History $history): void
    {
        // The next window begins in one or two seconds.
        $quota = $history->quota(2, $anchor = (int) ceil(microtime(true)) + 1);
        $wire = self::redis();
        $caller = $history->caller(new self($wire()));
        while ($caller->take($quota)[0] === CallLog::DONE) {
        }
        $in_time = microtime(true) < $anchor - 0.1;
        History::sleep_until($anchor + 0.1);
        $history->happened('denied in a new window', $in_time && $caller->take($quota)[0] === CallLog::DENIED);
    }
}

/** A lockout that checks for a block first, and counts the failure afterwards. */
final class CheckThenCount extends Control
{
    public const RULE = 'lockouts 1';

    public function take(array $bucket, float $cost): array
    {
        [$attempts, $block, $factor, $longest] = $bucket['lockout'];
        $now = hrtime(true) / 1e9;
        $until = (float) $this->wire->ask("GET until$bucket[0]");
        if ($now < $until) {
            return [CallLog::DENIED, $until - $now];
        }
        History::gap();
        $failures = (int) substr($this->wire->ask("INCR failures$bucket[0]"), 1);
        if ($failures >= $attempts) {
            $until = $now + min($block * $factor ** ($failures - $attempts), $longest);
            $this->wire->ask("SET until$bucket[0] $until");
        }
        return [CallLog::DONE, 0];
    }

    public static function run(History $history): void
    {
        $wire = self::redis();
        take_twice($history, $history->lockout(1, 60, 2, 600), fn () => new self($wire()));
    }
}

/** A lockout in which each granted attempt begins a block, and each denial begins it again. */
final class RenewedBlock extends Control
{
    public const RULE = 'lockouts 3';
    /** The length of a block in seconds. */
    private const BLOCK = 1.0;

    public function take(array $bucket, float $cost): array
    {
        $block = (int) ($bucket['lockout'][1] * 1000);
        if ($this->wire->ask("SET block$bucket[0] 1 NX PX $block") === '+OK') {
            return [CallLog::DONE, 0];
        }
        $rest = max(0, (int) substr($this->wire->ask("PTTL block$bucket[0]"), 1));
        $this->wire->ask("PEXPIRE block$bucket[0] $block");
        return [CallLog::DENIED, $rest / 1000];
    }

    public static function run(History $history): void
    {
        $lockout = $history->lockout(1, self::BLOCK, 1, self::BLOCK);
        $wire = self::redis();
        $caller = $history->caller(new self($wire()));
        $caller->take($lockout);
        [$first, $wait] = $caller->take($lockout);
        $ends = microtime(true) + $wait;
        // The calls meanwhile renew the block again and again.
        do {
            usleep(50_000);
            $is_over = microtime(true) > $ends + 0.01;
            [$answer] = $caller->take($lockout);
        } while (!$is_over && $answer === CallLog::DENIED);
        $history->happened('block renewed', [$first, $answer] === [CallLog::DENIED, CallLog::DENIED]);
    }
}

/** Checks the floor first, and takes the tokens afterwards. */
final class CheckedFloor extends WrongCaller
{
    public const RULE = '5';

    public function take(array $bucket, float $cost, float $floor = 0): array
    {
        if ($this->remaining($bucket) < $cost + $floor) {
            return [CallLog::EXCUSED, 0];
        }
        History::gap();
        return parent::take($bucket, $cost);
    }

    public static function run(History $history): void
    {
        take_twice($history, $history->bucket(4, 0.01), fn () => new self, 2, 2);
    }
}

/**
 * A batch that gives the tokens of a quota back in the next window, where other callers get them,
 * too.
 */
final class NextWindowGiveBack extends LateGiveBack
{
    public const RULE = 'quotas 1';

    public static function run(History $history): void
    {
        $quota = $history->quota(2, $anchor = (int) ceil(microtime(true)) + 1);
        self::give_back($history, $quota, 1, function (Caller $other) use ($history, $quota, $anchor) {
            $in_time = microtime(true) < $anchor - 0.1;
            History::sleep_until($anchor + 0.1);
            $other->take($quota, 2);
            $history->happened('given back in the next window', $in_time && $other->limiter->remaining($quota) < 1);
        });
    }
}

/** A bucket that is one instant, at which it was empty. Its limit may change. */
abstract class OneInstant extends Control
{
    /** Returns the options with which the record is written. */
    abstract protected function options(float $span): string;

    public function take(array $bucket, float $cost): array
    {
        [, $capacity, $rate] = $bucket;
        $now = hrtime(true) / 1e9;
        $span = $capacity / $rate;
        $next = $this->empty_at("b{$bucket['name']}", $now - $span) + $cost / $rate;
        if ($next > $now) {
            return [CallLog::DENIED, $next - $now];
        }
        $this->wire->ask(sprintf('SET b%d %.9F %s', $bucket['name'], $next, $this->options($span)));
        return [CallLog::DONE, 0];
    }

    /** @return array{Caller, array, array} a caller, and limits of 20 ms and of an hour */
    protected static function limits(History $history): array
    {
        return [$history->caller(new static(self::redis()())), ...$history->limits([2, 100], [36, 0.01])];
    }
}

/** Keeps the instant for ever, so a full bucket is not full under a limit with a longer span. */
final class KeptInstant extends OneInstant
{
    public const RULE = 'limits 2';

    protected function options(float $span): string
    {
        return '';
    }

    public static function run(History $history): void
    {
        [$caller, $short, $long] = self::limits($history);
        $caller->take($short);
        usleep(200_000);
        $history->happened('a full bucket denied', $caller->take($long)[0] === CallLog::DENIED);
    }
}

/** Forgets the bucket when it is full under the limit of the last call. */
final class LastSpan extends OneInstant
{
    public const RULE = 'limits 1';

    protected function options(float $span): string
    {
        return 'PX ' . (int) ceil($span * 1000);
    }

    public static function run(History $history): void
    {
        [$caller, $short, $long] = self::limits($history);
        $caller->take($long, 36);
        usleep(50_000);
        $caller->take($short);
        usleep(50_000);
        $history->happened('a bucket forgotten', $caller->take($long, 36)[0] === CallLog::DONE);
    }
}

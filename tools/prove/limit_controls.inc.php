<?php
/**
 * Defines the controls of quotas, lockouts and floors: known-bad limiters, as applications use
 * them. The judge must find that the log of each of them breaks a rule.
 */
require_once __DIR__ . '/controls.inc.php';

/**
 * The base of window limiters on Redis: a key that expires counts the tokens. Tokens of a denied
 * call are given back.
 */
abstract class CountedWindow extends Control
{
    /** The length of a window in milliseconds. */
    protected const LENGTH = 60_000;

    public function take(array $bucket, float $cost): array
    {
        [$id, $limit] = $bucket;
        $count = (int) substr($this->wire->ask("INCRBY w$id $cost"), 1);
        if ($count === (int) $cost) {
            $this->begin("w$id", $bucket['anchor']);
        }
        if ($count <= $limit) {
            return [CallLog::DONE, 0];
        }
        $this->wire->ask("DECRBY w$id $cost");
        $rest = (int) substr($this->wire->ask("PTTL w$id"), 1);
        $this->denied("w$id");
        return [CallLog::DENIED, $rest / 1000];
    }

    /** Begins a window at its first call. */
    abstract protected function begin(string $key, int $anchor): void;

    protected function denied(string $key): void
    {
    }
}

/** A window that begins at its first call, and not at an instant of the calendar. */
final class FirstHitWindow extends CountedWindow
{
    protected function begin(string $key, int $anchor): void
    {
        $this->wire->ask("PEXPIRE $key " . self::LENGTH);
    }
}

/** A window of the calendar, but each denial renews the time to live of the count. */
final class RenewedWindow extends CountedWindow
{
    protected function begin(string $key, int $anchor): void
    {
        $age = (time() - $anchor) * 1000 % self::LENGTH;
        $this->wire->ask("PEXPIREAT $key " . (time() * 1000 - $age + ($age < 0 ? 0 : self::LENGTH)));
    }

    protected function denied(string $key): void
    {
        $this->wire->ask("PEXPIRE $key " . self::LENGTH);
    }
}

/** A lockout that checks for a block first, and counts the failure afterwards. */
final class CheckThenCount extends Control
{
    public function take(array $bucket, float $cost): array
    {
        [$attempts, $block, $factor, $longest] = $bucket['lockout'];
        $now = hrtime(true) / 1e9;
        $until = (float) $this->wire->ask("GET until$bucket[0]");
        if ($now < $until) {
            return [CallLog::DENIED, $until - $now];
        }
        $failures = (int) substr($this->wire->ask("INCR failures$bucket[0]"), 1);
        if ($failures >= $attempts) {
            $until = $now + min($block * $factor ** ($failures - $attempts), $longest);
            $this->wire->ask("SET until$bucket[0] $until");
        }
        return [CallLog::DONE, 0];
    }

    public function reset(array $bucket): void
    {
        $this->wire->ask("DEL until$bucket[0] failures$bucket[0]");
    }
}

/** A lockout in which each granted attempt begins a block, and each denial begins it again. */
final class RenewedBlock extends Control
{
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

    public function reset(array $bucket): void
    {
        $this->wire->ask("DEL block$bucket[0]");
    }
}

/** Checks the floor first, and takes the tokens afterwards. */
final class CheckedFloor extends WrongCaller
{
    public function take(array $bucket, float $cost, float $floor = 0): array
    {
        if ($this->bucket($bucket)->peek()->remaining < $cost + $floor) {
            return [CallLog::EXCUSED, 0];
        }
        // The time of a round trip to another host.
        usleep(1_000);
        return parent::take($bucket, $cost);
    }
}

/**
 * A batch that gives the tokens of a quota back in the next window, where other callers get them,
 * too.
 */
final class NextWindowGiveBack extends WrongCaller
{
    /** The longest time from the start of the next window to the give-back, in microseconds. */
    private const LATEST = 400_000;

    public function take_all(array $entries): array
    {
        $id = array_key_first($entries);
        [$quota, $cost] = $entries[$id];
        $answer = is_quota($quota) ? $this->take($quota, $cost) : [CallLog::EXCUSED, 0];
        $rest = ($quota['anchor'] ?? 0) - microtime(true);
        if ($answer[0] === CallLog::DONE && $rest > 0) {
            // The first worker that wakes takes all tokens of the next window. The workers that
            // wake later give tokens back to this window.
            usleep((int) ($rest * 1e6) + mt_rand(0, self::LATEST));
            $this->refund($quota, $cost);
            $answer = [CallLog::UNDONE, 0];
        }
        return [$id => $answer] + array_fill_keys(array_keys($entries), [CallLog::EXCUSED, 0]);
    }
}

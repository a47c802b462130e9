<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/** Makes the decisions of lockouts. */
final class LockoutAnswer
{
    /** @var \WeakMap<Decision, int>|null see nextAfter() */
    private static ?\WeakMap $next = null;

    public static function decision(LockoutRules $rules, Outcome $outcome, bool $isFallback): Decision
    {
        [$until, $failures] = $rules->read($outcome->emptyAt, $outcome->now);
        $wait = max(0, $until - $outcome->now);
        $left = $outcome->isGranted() && $wait === 0 ? max($rules->attempts - $failures, 1) : 0;
        $resetAfter = $failures === 0 ? 0 : max(0, $until + $rules->maxBlock - $outcome->now);
        $decision = new Decision(
            $outcome->isGranted(),
            (float) $left,
            (float) $rules->attempts,
            $outcome->isGranted() ? 0.0 : self::shown($wait),
            self::shown($resetAfter),
            $outcome->reason,
            $isFallback
        );
        self::$next ??= new \WeakMap();
        self::$next[$decision] = $wait > 0 ? $wait : $resetAfter;
        return $decision;
    }

    /**
     * Returns the ticks until the next attempt of a lockout, or until its failures are forgotten.
     * Returns null for a decision that no lockout has made.
     */
    public static function nextAfter(Decision $decision): ?int
    {
        return self::$next[$decision] ?? null;
    }

    /**
     * Returns seconds, rounded up to whole microseconds, because smaller parts come from rounding.
     */
    private static function shown(int $ticks): float
    {
        return Seconds::fromTicks(intdiv($ticks + Quota::MICROSECOND - 1, Quota::MICROSECOND) * Quota::MICROSECOND);
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Converts seconds, which are floats, to ticks and back, as crates/gcra/src/seconds.rs does. */
final class Seconds
{
    /** Below 2^52 ticks (52 days), each number of ticks has a nearest float of its own. */
    private const DISTINCT = 1 << 52;

    /**
     * Returns seconds without a fault() in ticks, rounded up, at most 2^60. If the float is the
     * nearest one to a whole number of ticks, that number is used.
     */
    public static function toTicks(float $seconds): int
    {
        return self::rounded($seconds, static fn (Amount $exact) => $exact->scale(Quota::SECOND, 1, true));
    }

    /** @param callable(Amount): ?int $round used if the float is not nearest to a whole number */
    private static function rounded(float $seconds, callable $round): int
    {
        $nearest = self::nearest($seconds * Quota::SECOND);
        // From 2^22 seconds on, the rounded product may be one tick too small or too great.
        foreach ([$nearest, $nearest - 1, $nearest + 1] as $ticks) {
            if ($ticks / Quota::SECOND === $seconds && $ticks < Quota::MOST) {
                return (int) $ticks;
            }
        }
        return min($round(Amount::of($seconds)) ?? Quota::MOST, Quota::MOST);
    }

    /** Returns the least seconds that toTicks() does not convert to fewer ticks. */
    public static function fromTicks(int $ticks): float
    {
        $seconds = $ticks / (float) Quota::SECOND;
        if ($ticks < self::DISTINCT) {
            return $seconds;
        }
        $wanted = min($ticks, Quota::MOST);
        while (self::toTicks($seconds) < $wanted) {
            $seconds = self::neighbour($seconds, 1);
        }
        while (self::toTicks(self::neighbour($seconds, -1)) > $wanted) {
            $seconds = self::neighbour($seconds, -1);
        }
        return $seconds;
    }

    /** Returns the next positive float above or below. */
    private static function neighbour(float $number, int $direction): float
    {
        return unpack('d', pack('q', unpack('q', pack('d', $number))[1] + $direction))[1];
    }

    /** Rounds half away from zero. PHP's round() changes some floats first. */
    private static function nearest(float $number): float
    {
        return match (true) {
            abs($number) >= self::DISTINCT => $number,
            $number < 0 => -floor(0.5 - $number),
            default => floor($number + 0.5),
        };
    }

    /**
     * Returns the age in ticks of the instant $seconds ago, limited to 2^60 on either side.
     *
     * A float with today's Unix time is coarser than a tenth of a microsecond. So a microsecond is
     * added, and a proposal of k tokens gives at least k tokens. A fake clock is exact.
     */
    public static function age(float $seconds, Grain $grain): int
    {
        $added = $grain === Grain::FakeNanosecond ? 0 : Quota::MICROSECOND;
        $ticks = self::nearest($seconds * Quota::SECOND) + $added;
        return (int) max(-Quota::MOST, min(Quota::MOST, $ticks));
    }

    /**
     * Returns the step for the two times of the storage interface, which have no fault().
     *
     * If n rounded costs exceed the full span by at most n grains, the full span becomes n costs,
     * as in a quota. Otherwise rounding would lose a token.
     */
    public static function toStep(float $cost, float $full, Grain $grain): Step
    {
        [$isFake, $unit] = [$grain === Grain::FakeNanosecond, $grain->ticks()];
        $round = static function (Amount $exact) use ($isFake): ?int {
            $ticks = $exact->scale(Quota::SECOND, 1, !$isFake);
            return $isFake && $ticks === 0 ? 1 : $ticks;
        };
        $whole = static fn (float $seconds) => intdiv(self::rounded($seconds, $round) + $unit - 1, $unit) * $unit;
        $costTicks = $whole($cost);
        $span = self::span($cost, $costTicks, $full, $whole($full), $grain);
        // The greatest span is rounded down to whole grains.
        $most = Quota::MOST - Quota::MOST % $unit;
        if ($cost > $full && $costTicks >= $most) {
            // Both may be limited to the greatest span. Even then, a full bucket denies the step.
            return new Step($most + $unit, min($span, $most));
        }
        return new Step(min($costTicks, $most), min($span, $most));
    }

    private static function span(float $cost, int $costTicks, float $full, int $fullTicks, Grain $grain): int
    {
        $ratio = $cost === 0.0 ? INF : self::nearest($full / $cost);
        if ($ratio >= Quota::MOST) {
            return $fullTicks;
        }
        $costs = (int) $ratio;
        $span = $costs * $costTicks;
        if (!is_int($span) || $span <= $fullTicks && $grain !== Grain::FakeNanosecond) {
            return $fullTicks;
        }
        // The costs were rounded by less than a grain each. The shift allows for the relative error
        // of the floats.
        return abs($span - $fullTicks) <= $costs * $grain->ticks() + ($fullTicks >> 51) ? $span : $fullTicks;
    }
}

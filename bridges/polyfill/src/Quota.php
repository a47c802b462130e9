<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * A capacity and a rate in whole ticks, which are nanoseconds. The numbers are those of the
 * extension, to the tick.
 *
 * $group tokens are added in $unit ticks. The group is the least power of ten for which the unit is
 * at least 1000 grains. crates/gcra/src/quota.rs explains the rules of rounding.
 */
final class Quota
{
    public const SECOND = 1_000_000_000;
    public const MICROSECOND = 1_000;
    /** The greatest span, wait and debt: 2^60 ticks (36 years). */
    public const MOST = 1 << 60;

    private const MOST_RATE = 1_000_000_000_000_000;
    private const LEAST_UNIT = 1000;
    private const LEAST_UNNAMED = 1 << 51;

    public readonly int $span;
    private readonly int $wholeCapacity;

    private function __construct(
        public readonly Amount $capacity,
        public readonly Grain $grain,
        private readonly int $unit,
        private readonly int $group,
        private readonly bool $isRounded,
    ) {
        $this->span = $this->price($capacity) ?? throw self::tooLong();
        $this->wholeCapacity = $capacity->floor();
    }

    /** @throws BadQuota if the capacity or the rate is out of range */
    public static function of(int|float $capacity, int|float $rate, Grain $grain): self
    {
        static $latest = [null, null, null, null];
        if ($latest[0] !== $capacity || $latest[1] !== $rate || $latest[2] !== $grain) {
            $latest = [$capacity, $rate, $grain, self::make($capacity, $rate, $grain)];
        }
        return $latest[3];
    }

    private static function make(int|float $capacity, int|float $rate, Grain $grain): self
    {
        foreach ([BadQuota::CAPACITY => $capacity, BadQuota::RATE => $rate] as $place => $number) {
            if (Amount::fault($number) !== null) {
                throw new BadQuota($place, is_finite($number) ? 'must be greater than 0' : 'must be finite');
            }
        }
        if ($capacity == 0 || $rate == 0) {
            throw new BadQuota($capacity == 0 ? BadQuota::CAPACITY : BadQuota::RATE, 'must be greater than 0');
        }
        if ($rate > self::MOST_RATE) {
            throw new BadQuota(BadQuota::RATE, 'must be less than or equal to 1.0E+15');
        }
        $added = Amount::of($rate);
        for ($group = 1;; $group *= 10) {
            $grains = intdiv(self::SECOND, $grain->ticks()) * $group;
            [$unit, $isRounded] = self::unit($added, $grains, $grain);
            if ($unit >= self::LEAST_UNIT) {
                // A divisor has at most 62 bits. A token would take 146 years.
                if ($unit > (1 << 62) / $grain->ticks()) {
                    throw self::tooLong();
                }
                return new self(Amount::of($capacity), $grain, $unit * $grain->ticks(), $group, $isRounded);
            }
        }
    }

    /**
     * Returns the quota of a number of tokens in each window, of which the shortest has that many
     * seconds. Each token costs a microsecond, so the state of a window counts its tokens.
     *
     * @throws BadQuota if the limit is 0, or more than the microseconds of the shortest window
     */
    public static function counting(int $limit, int $shortest): self
    {
        if ($limit < 1 || $limit > $shortest * 1_000_000) {
            throw new BadQuota(BadQuota::CAPACITY, 'must be the microseconds of the window at most');
        }
        return new self(Amount::of($limit), Grain::Microsecond, self::MICROSECOND, 1, false);
    }

    private static function tooLong(): BadQuota
    {
        return new BadQuota(BadQuota::CAPACITY, 'must refill within 2^60 nanoseconds at the given rate');
    }

    /**
     * Returns the time in which a group of tokens is added, in grains, and true if it was rounded
     * up. If the rate is the double that is nearest to a whole number of grains, that number is
     * used.
     *
     * @return array{int, bool}
     */
    private static function unit(Amount $added, int $grains, Grain $grain): array
    {
        $up = $added->divideUp($grains) ?? throw self::tooLong();
        if ($added->isWhole() && $added->floor() * $up === $grains) {
            return [$up, false];
        }
        $rate = (float) $added->number;
        $named = floor($grains / $rate + 0.5);
        if ($named > 0 && $named < self::LEAST_UNNAMED && $grains / $named === $rate) {
            return [(int) $named, false];
        }
        // From 2^51 ticks on, the rounding of the double may have made the unit longer, too.
        return $grain === Grain::FakeNanosecond ? [$up - 1 - intdiv($up, self::LEAST_UNNAMED), false] : [$up, true];
    }

    /** Returns the ticks in which tokens are refilled, or null if that takes more than MOST. */
    public function price(Amount $tokens): ?int
    {
        if ($this->grain === Grain::FakeNanosecond && $this->group === 1) {
            // A part of a token costs at least one tick.
            $ticks = $tokens->scale($this->unit, 1, false);
            $ticks = $ticks === 0 && !$tokens->isZero() ? 1 : $ticks;
        } else {
            $grains = $tokens->scale($this->unit, $this->group * $this->grain->ticks(), true);
            $ticks = $grains === null || $grains > self::MOST ? null : $grains * $this->grain->ticks();
        }
        return $ticks === null || $ticks > self::MOST ? null : $ticks;
    }

    /**
     * Returns the step that takes tokens. If the tokens exceed the capacity, even a full bucket
     * denies the step.
     */
    public function step(Amount $tokens): Step
    {
        $cost = $tokens->exceeds($this->capacity) ? $this->span + $this->grain->ticks() : $this->price($tokens);
        return new Step($cost, $this->span);
    }

    /** Returns the ticks that a refund gives back, rounded down, at most MOST. */
    public function refund(Amount $tokens): int
    {
        $grain = $this->grain->ticks();
        $grains = $tokens->scale($this->unit, $this->group * $grain, false) ?? PHP_INT_MAX;
        return min($grains, intdiv(self::MOST, $grain)) * $grain;
    }

    /** Returns the whole tokens that are refilled in these ticks, at most the capacity. */
    public function tokens(int $available): int
    {
        $available = min($available, $this->span);
        $available -= $available % $this->grain->ticks();
        return min(Ratio::of($available, $this->group, 0, $this->unit, false) ?? PHP_INT_MAX, $this->wholeCapacity);
    }

    /** Returns the whole tokens that a bucket owes, rounded up. */
    public function owed(int $debt): int
    {
        return Ratio::of($debt, $this->group, 0, $this->unit, true) ?? PHP_INT_MAX;
    }

    /** Returns the ticks in which whole tokens are refilled, at most the span. */
    public function refill(int $tokens): int
    {
        return $tokens > $this->wholeCapacity ? $this->span : min($this->price(Amount::of($tokens)) ?? $this->span, $this->span);
    }

    /** Returns the most ticks by which a time is longer because the unit was rounded up. */
    public function rounding(int $ticks): int
    {
        return $this->isRounded ? (intdiv($ticks, $this->unit) + 1) * $this->grain->ticks() : 0;
    }

    /** Returns a time in whole seconds for HTTP fields, rounded up. Ignores the rounding. */
    public function wholeSeconds(int $ticks): int
    {
        $ignored = $this->grain === Grain::FakeNanosecond ? 0 : max($this->rounding($ticks), self::MICROSECOND);
        return intdiv(max(0, $ticks - $ignored) + self::SECOND - 1, self::SECOND);
    }

    public function equals(self $other): bool
    {
        return [$this->unit, $this->group, $this->grain, $this->isRounded, $this->span] === [$other->unit, $other->group, $other->grain, $other->isRounded, $other->span]
            && !$this->capacity->exceeds($other->capacity) && !$other->capacity->exceeds($this->capacity);
    }
}

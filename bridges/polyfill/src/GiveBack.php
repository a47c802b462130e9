<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * Gives tokens back, in ticks. The bucket never holds more than its capacity afterwards.
 *
 * crates/gcra/src/store.rs proves the rules: no tokens that were refilled since the take are
 * granted twice, and no two reservations get their tokens at one instant.
 */
final class GiveBack
{
    /** The state for a refund that undoes no particular take. No state is later. */
    private const VOUCHED = PHP_INT_MAX;

    private function __construct(
        private readonly int $cost,
        public readonly int $span,
        private readonly int $taken,
        private readonly int $inDebt,
        public readonly ?Windows $windows = null,
    ) {}

    /** Gives the whole cost back, or to the current window of a bucket with windows. */
    public static function refund(int $cost, Step $step): self
    {
        return new self($cost, $step->span, self::VOUCHED, $cost, $step->windows);
    }

    /** Undoes a take that needed all its tokens at once and left the state $taken. */
    public static function take(Step $step, int $taken): self
    {
        // A take that moved the state to the end of a window was in that window.
        return new self($step->cost, $step->span, $taken, $step->cost, $step->windows?->at($taken - 1));
    }

    /** Undoes a reservation that left the state $taken. */
    public static function reservation(Step $step, int $taken): self
    {
        return new self($step->cost, $step->span, $taken, 0);
    }

    /** Returns the state after the change. */
    public function apply(int $emptyAt, int $now): int
    {
        if ($this->windows !== null) {
            $windows = $this->taken === self::VOUCHED ? $this->windows->at($now) : $this->windows;
            return $windows->refunded($emptyAt, $this->cost);
        }
        $full = max(0, $now - $this->span);
        return min($emptyAt, max($emptyAt - $this->worth($emptyAt, $now), $full));
    }

    /** Returns the part of the cost that may be given back now. */
    private function worth(int $emptyAt, int $now): int
    {
        $isLast = $emptyAt === $this->taken || $this->taken === self::VOUCHED;
        $free = $this->cost;
        if (!$isLast && $emptyAt > $now) {
            $later = max(0, $emptyAt - $this->taken);
            $free = min(max(0, $this->cost - $later), $this->inDebt);
        }
        $missing = max(0, $this->taken - max(0, $now - $this->span));
        return min($free, $missing);
    }
}

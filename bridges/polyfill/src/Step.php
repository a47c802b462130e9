<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * A request for tokens of one bucket, in ticks.
 *
 * The state of a bucket is the instant at which it was, or will be, empty. Taking tokens moves it
 * forward by their cost: next = max(empty, now - span) + cost, which is granted if next is not
 * after now + maxWait. A negative maxWait is a floor: a grant must leave the tokens of that many
 * ticks in the bucket. A bucket with windows is full at the start of each one, and is not refilled
 * between. crates/gcra/src/step.rs has the proof and a worked example.
 */
final class Step
{
    public function __construct(
        public readonly int $cost,
        public readonly int $span,
        public readonly int $maxWait = 0,
        public readonly bool $isDry = false,
        public readonly ?Windows $windows = null,
    ) {}

    /** Returns the same step, which changes nothing. */
    public function dry(): self
    {
        return new self($this->cost, $this->span, $this->maxWait, true, $this->windows);
    }

    /** Returns the same step with another longest wait or, if negative, another floor. */
    public function within(int $maxWait): self
    {
        return new self($this->cost, $this->span, $maxWait, $this->isDry, $this->windows);
    }

    /** Returns the same step with another cost. */
    public function costing(int $cost): self
    {
        return new self($cost, $this->span, $this->maxWait, $this->isDry, $this->windows);
    }

    /** Returns the same step on a bucket with these windows. */
    public function in(?Windows $windows): self
    {
        return new self($this->cost, $this->span, $this->maxWait, $this->isDry, $windows);
    }

    /** Returns the same step in the window of an instant, if the bucket has windows. */
    public function at(int $now): self
    {
        return $this->windows === null ? $this : $this->in($this->windows->at($now));
    }

    public function exceedsCapacity(): bool
    {
        return $this->cost > $this->span + $this->maxWait;
    }

    /** Decides for a bucket in this state. A bucket without a record has the state 0. */
    public function decide(int $emptyAt, int $now): Outcome
    {
        $next = $this->held($emptyAt, $now) + $this->cost;
        if ($next <= $this->drained($now) + $this->maxWait) {
            // A step that costs nothing changes nothing, because the bucket may hold more tokens
            // for a caller with a larger span.
            return new Outcome(Outcome::GRANTED, $now, $this->isDry || $this->cost === 0 ? $emptyAt : $next);
        }
        return new Outcome($this->exceedsCapacity() ? Outcome::EXCEEDS : Outcome::INSUFFICIENT, $now, $emptyAt);
    }

    /**
     * Decides for a bucket without a record. $first is the state after the step that a bootstrap
     * proposes. The tokens are charged at $now as well, so a late proposal gives none away.
     */
    public function decideFirst(?int $first, int $now): Outcome
    {
        if ($first === null || $this->isDry || $this->exceedsCapacity()) {
            return $this->decide(0, $now);
        }
        return new Outcome(Outcome::GRANTED, $now, max($first, $this->decide(0, $now)->emptyAt));
    }

    /** Returns the state, or the state of a full bucket if that is later. */
    private function held(int $emptyAt, int $now): int
    {
        return max($emptyAt, $this->drained($now) - $this->span, 0);
    }

    /**
     * Reports whether a state allows nothing more in the window of the step: the window is blocked,
     * or the state is of a later window.
     */
    public function isClosed(int $emptyAt): bool
    {
        return $this->windows !== null && $emptyAt >= $this->windows->end();
    }

    /** Returns the instant up to which the bucket has been refilled. */
    private function drained(int $now): int
    {
        return $this->windows === null ? $now : $this->windows->start() + $this->span;
    }

    /** Returns the tokens that the bucket holds, as the ticks in which they are refilled. */
    public function available(Outcome $outcome): int
    {
        return min(max(0, $this->drained($outcome->now) - $outcome->emptyAt), $this->span);
    }

    /** Returns the ticks until the debt is repaid, or 0. */
    public function debt(Outcome $outcome): int
    {
        if ($this->windows !== null && $outcome->emptyAt >= $this->windows->end()) {
            // The state is of a later window, or the whole window is blocked.
            return 0;
        }
        return max(0, $outcome->emptyAt - $this->drained($outcome->now));
    }

    /** Returns the ticks until this step would be granted, or null if never. */
    public function retryAfter(Outcome $outcome): ?int
    {
        return match ($outcome->reason) {
            Outcome::GRANTED => 0,
            Outcome::EXCEEDS => null,
            default => max(0, $this->grantedAt($outcome) - $outcome->now),
        };
    }

    private function grantedAt(Outcome $outcome): int
    {
        if ($this->windows !== null && $this->windows->firstFrom($outcome->emptyAt) === null) {
            // A block that ends later than all windows that are known. The bucket is full then.
            return $outcome->emptyAt;
        }
        return $this->drains($this->held($outcome->emptyAt, $outcome->now) + $this->cost - $this->maxWait);
    }

    /** Returns the first instant for which drained() is at least $instant. */
    private function drains(int $instant): int
    {
        return $this->windows?->firstFrom($instant - $this->span) ?? $instant;
    }

    /** Returns the ticks in which the tokens are refilled that a grant must leave in the bucket. */
    public function floor(): int
    {
        return max(0, -$this->maxWait);
    }

    /** Returns the reason for callers, who learn whether only the floor denied the step. */
    public function reason(Outcome $outcome): string
    {
        $isBelow = $outcome->reason === Outcome::INSUFFICIENT && $this->maxWait < 0
            && $this->within(0)->decide($outcome->emptyAt, $outcome->now)->isGranted();
        return $isBelow ? Outcome::BELOW_FLOOR : $outcome->reason;
    }

    /** Returns the ticks until the bucket is full, or until its window ends. */
    public function resetAfter(Outcome $outcome): int
    {
        $full = $outcome->emptyAt + $this->span;
        if ($this->windows !== null) {
            $last = max($outcome->emptyAt, $this->windows->start() + 1);
            $full = $this->windows->firstFrom($last) ?? $last;
        }
        return max(0, $full - $outcome->now);
    }

    /**
     * Returns the ticks after the state of a grant until the bucket is certainly full, by a clock
     * that has advanced $drift ticks more than the one that selects the window.
     */
    public function lifetime(int $drift): int
    {
        if ($this->windows === null) {
            return $this->span;
        }
        return min($this->windows->end() - $this->windows->start() + $drift, Quota::MOST);
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/** The integers of a decision: whole tokens, and ticks. */
final class Answer
{
    /** @var \WeakMap<Decision, self>|null the answers from which decisions were made */
    private static ?\WeakMap $answers = null;

    /**
     * @param ?int $retryAfter null for never
     * @param int $floor the tokens that the call leaves to others, as ticks
     * @param ?int $window the length of the bucket's window, or null if it is refilled all the time
     */
    public function __construct(
        public readonly Quota $quota,
        public readonly string $reason,
        public readonly int $remaining,
        public readonly ?int $retryAfter,
        public readonly int $resetAfter,
        public readonly int $floor = 0,
        public readonly ?int $window = null,
    ) {}

    public static function of(Quota $quota, Step $step, Outcome $outcome): self
    {
        // The store has chosen the window.
        $step = $step->at($outcome->now);
        return new self(
            $quota,
            $step->reason($outcome),
            self::remaining($quota, $step, $outcome),
            $step->retryAfter($outcome),
            $step->resetAfter($outcome),
            $step->floor(),
            $step->windows === null ? null : $step->windows->end() - $step->windows->start(),
        );
    }

    public static function remaining(Quota $quota, Step $step, Outcome $outcome): int
    {
        $step = $step->at($outcome->now);
        $debt = $step->debt($outcome);
        return $debt > 0 ? -$quota->owed($debt) : $quota->tokens($step->available($outcome));
    }

    /** Returns the answer of a decision, or null if PHP code has made the decision. */
    public static function behind(Decision $decision): ?self
    {
        return self::$answers[$decision] ?? null;
    }

    public function isAllowed(): bool
    {
        return $this->reason === Outcome::GRANTED;
    }

    /** Returns the same answer for a call that was granted. */
    public function granted(): self
    {
        return new self($this->quota, Outcome::GRANTED, $this->remaining, 0, $this->resetAfter, 0, $this->window);
    }

    public function decision(bool $isFallback = false, int|string|null $refusedBy = null): Decision
    {
        $decision = new Decision(
            $this->isAllowed(),
            (float) $this->remaining,
            (float) $this->quota->capacity->number,
            $this->retryAfter === null ? INF : $this->shown($this->retryAfter),
            $this->shown($this->resetAfter),
            $this->reason,
            $isFallback,
            $refusedBy
        );
        self::$answers ??= new \WeakMap();
        self::$answers[$decision] = $this;
        return $decision;
    }

    /**
     * Converts a time to seconds. Subtracts what rounding the time per token has added, but at most
     * a microsecond. The result is 0 only if the time is 0.
     */
    private function shown(int $ticks): float
    {
        $rounding = min($this->quota->rounding($ticks), Quota::MICROSECOND);
        return Seconds::fromTicks(max(0, $ticks - $rounding, min($ticks, 1)));
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/**
 * A call for a number of tokens of one bucket, with the bucket's values at the start of the call.
 */
final class Question
{
    /**
     * @param ?\Closure(): mixed $bootstrap calls an overriding _bootstrap(), or null
     * @param \Closure(): bool $consume calls a storage that is written in PHP
     */
    public function __construct(
        private readonly ?Home $home,
        public readonly string $identifier,
        public readonly Quota $quota,
        public readonly Step $step,
        public readonly ?\Closure $bootstrap,
        private readonly \Closure $consume,
    ) {}

    public function isNative(): bool
    {
        return $this->home !== null;
    }

    /** @throws \LogicException for a storage that is written in PHP */
    public function home(string $method, string $what = ''): Home
    {
        return $this->home ?? throw new \LogicException("TokenBucket::$method()$what needs one of the extension's own storages");
    }

    /** Refuses a call that quotas do not support, because they are not refilled within a window. */
    public function refuseWindows(string $call): self
    {
        return $this->step->windows === null ? $this : throw new \LogicException("TokenBucket\Quota does not support $call");
    }

    /** Returns the same question with another step. */
    public function with(Step $step): self
    {
        return new self($this->home, $this->identifier, $this->quota, $step, $this->bootstrap, $this->consume);
    }

    /** Returns the same question with other calls of PHP code. */
    public function calling(?\Closure $bootstrap, \Closure $consume): self
    {
        return new self($this->home, $this->identifier, $this->quota, $this->step, $bootstrap, $consume);
    }

    /**
     * Returns the same question, which may take tokens that are refilled within these ticks. Adds
     * the rounding of the time per token, and at least a microsecond.
     */
    public function within(int $maxWait): self
    {
        if ($this->step->exceedsCapacity()) {
            return $this;
        }
        $maxWait += max($this->quota->rounding($maxWait), Quota::MICROSECOND);
        return $this->with($this->step->within(min($maxWait, Quota::MOST)));
    }

    /** Takes the tokens from one of the extension's storages. */
    public function take(Home $home): Outcome
    {
        $first = $this->bootstrap === null ? null : $home->firstState($this->identifier, $this->step, $this->bootstrap);
        if ($first !== null && $this->step->maxWait !== 0 && $first > $home->store->now() + $this->step->maxWait) {
            // The call waits or has a floor. The bucket would hold its tokens too late.
            return new Outcome(Outcome::INSUFFICIENT, $home->store->now(), max(0, $first - $this->step->cost));
        }
        return $home->take($this->identifier, $this->step, $first);
    }

    /** Takes the tokens if the bucket holds them. */
    public function decide(): Decision
    {
        return $this->home === null ? $this->estimate() : $this->decision($this->take($this->home));
    }

    public function isGranted(): bool
    {
        return $this->home === null ? $this->isGrantedInPhp() : $this->take($this->home)->isGranted();
    }

    private function isGrantedInPhp(): bool
    {
        return !$this->step->exceedsCapacity() && ($this->consume)();
    }

    /** Returns the decision for an outcome. Its retryAfter is that of a caller that cannot wait. */
    public function decision(Outcome $outcome): Decision
    {
        return Answer::of($this->quota, $this->step->within(min(0, $this->step->maxWait)), $outcome)->decision($this->isFallback());
    }

    /**
     * Returns the decision on a change that was made, from the outcome of a dry step after it. The
     * decision is a grant, even if the bucket is in debt.
     */
    public function changed(Step $look, Outcome $outcome): Decision
    {
        $answer = Answer::of($this->quota, $look, $outcome);
        return ($answer->reason === Outcome::INSUFFICIENT ? $answer->granted() : $answer)->decision($this->isFallback());
    }

    public function isFallback(): bool
    {
        return $this->home->isFallback ?? false;
    }

    /** Makes a decision from the answer of a storage in PHP. Its times are upper bounds. */
    private function estimate(): Decision
    {
        [$cost, $span] = [$this->step->cost, $this->quota->span];
        $answer = match (true) {
            $this->isGrantedInPhp() => new Answer($this->quota, Outcome::GRANTED, 0, 0, $span),
            $this->step->exceedsCapacity() => new Answer($this->quota, Outcome::EXCEEDS, 0, null, $span),
            // A denial of no tokens means that the bucket is in debt, of an unknown depth.
            default => new Answer($this->quota, Outcome::INSUFFICIENT, 0, $cost === 0 ? $span : $cost, $span),
        };
        return $answer->decision();
    }
}

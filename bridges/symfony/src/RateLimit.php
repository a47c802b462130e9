<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use TokenBucket\Decision;

/** Adds to Symfony's result the decision, which has headers() and the exact times. */
final class RateLimit extends SymfonyRateLimit
{
    private readonly float $retryAt;

    /**
     * @param float $wait seconds after which the call should be repeated. getRetryAfter() rounds
     *     the instant up to a second, so that a header in whole seconds is never too early
     */
    private function __construct(public readonly Decision $decision, bool $accepted, float $wait)
    {
        // A call that never succeeds has an infinite wait. A year is as good for a date.
        $this->retryAt = microtime(true) + min($wait, 31_536_000);
        $seconds = (int) ceil($wait > 0 ? $this->retryAt : floor($this->retryAt));
        $date = (new \DateTimeImmutable())->setTimestamp($seconds);
        parent::__construct((int) max(0, $decision->remaining), $date, $accepted, (int) $decision->capacity);
    }

    /** Describes a call that took its tokens, or was denied. */
    public static function of(Decision $decision): self
    {
        $wait = $decision->retryAfter;
        if ($decision->allowed && $decision->remaining < 1) {
            // The time of one token, at least the time until the bucket holds one.
            $wait = $decision->resetAfter / ($decision->capacity - $decision->remaining);
        }
        return new self($decision, $decision->allowed, $wait);
    }

    /** Describes a call for no tokens, which Symfony accepts in any case. */
    public static function ofPeek(Decision $decision): self
    {
        return new self($decision, true, $decision->retryAfter);
    }

    /** Describes a reservation, whose tokens may be used after some seconds. */
    public static function ofReservation(Decision $decision, float $delay): self
    {
        return new self($decision, $delay <= 0, $delay);
    }

    public function wait(): void
    {
        $seconds = $this->retryAt - microtime(true);
        if ($seconds > 0) {
            usleep((int) ceil($seconds * 1e6));
        }
    }
}

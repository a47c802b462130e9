<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use Symfony\Component\RateLimiter\Reservation;
use TokenBucket;

/** Takes the tokens of a limiter from a bucket. */
final class BucketLimiter implements LimiterInterface
{
    public function __construct(public readonly TokenBucket $bucket, private readonly int $limit)
    {
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        $this->check($tokens);
        $reservation = $this->bucket->reserve($tokens, $maxTime === null ? INF : max(0.0, $maxTime));
        $decision = $reservation->decision;
        if (!$decision->allowed) {
            $message = sprintf('The rate limiter wait time ("%d" seconds) is longer than the provided maximum time ("%d" seconds).', min($decision->retryAfter, PHP_INT_MAX / 2), $maxTime ?? 0);
            throw new MaxWaitDurationExceededException($message, RateLimit::of($decision));
        }
        return new Reservation(microtime(true) + $reservation->delay, RateLimit::ofReservation($decision, $reservation->delay));
    }

    public function consume(int $tokens = 1): SymfonyRateLimit
    {
        $this->check($tokens);
        if ($tokens > 0) {
            return RateLimit::of($this->bucket->attempt($tokens));
        }
        // As in Symfony, a negative number gives tokens back.
        if ($tokens < 0) {
            $this->bucket->refund(-$tokens);
        }
        return RateLimit::ofPeek($this->bucket->peek());
    }

    public function reset(): void
    {
        $this->bucket->reset();
    }

    /** Throws as Symfony's limiters do if the call can never succeed. */
    public function check(int $tokens): void
    {
        if ($tokens > $this->limit) {
            throw new \InvalidArgumentException(sprintf('Cannot reserve more tokens (%d) than the burst size of the rate limiter (%d).', $tokens, $this->limit));
        }
    }
}

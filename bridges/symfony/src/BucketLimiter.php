<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use Symfony\Component\RateLimiter\Reservation as SymfonyReservation;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Quota;

/**
 * Takes the tokens of a limiter from a bucket. If the limit is 0, the bucket still holds one token.
 */
final class BucketLimiter implements LimiterInterface
{
    /**
     * @param string $size names the limit in messages, as Symfony's limiter of the policy does
     * @param bool $deniesMore true if consume() denies more tokens than the limit, instead of
     *     throwing an exception
     */
    public function __construct(public readonly TokenBucket $bucket, private readonly int $limit, private readonly string $size = 'burst size', private readonly bool $deniesMore = false)
    {
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): SymfonyReservation
    {
        if ($this->bucket instanceof Quota) {
            throw new ReserveNotSupportedException(Quota::class);
        }
        $this->check($tokens);
        if ($tokens < 0) {
            return new SymfonyReservation(microtime(true), $this->consume($tokens));
        }
        $reservation = $this->bucket->reserve($tokens, $maxTime === null ? INF : max(0.0, $maxTime));
        $decision = $reservation->decision;
        if (!$decision->allowed) {
            $message = sprintf('The rate limiter wait time ("%d" seconds) is longer than the provided maximum time ("%d" seconds).', min($decision->retryAfter, PHP_INT_MAX / 2), $maxTime ?? 0);
            throw new MaxWaitDurationExceededException($message, RateLimit::of($decision, $this->limit));
        }
        return new SymfonyReservation(microtime(true) + $reservation->delay, RateLimit::ofReservation($decision, $reservation->delay, $this->limit));
    }

    public function consume(int $tokens = 1): SymfonyRateLimit
    {
        if ($tokens > 0) {
            return $this->describe($this->bucket->attempt($this->cost($tokens)));
        }
        // As in Symfony, a negative number gives tokens back.
        if ($tokens < 0) {
            $this->bucket->refund(-$tokens);
        }
        return RateLimit::ofPeek($this->bucket->peek(), $this->limit);
    }

    public function reset(): void
    {
        $this->bucket->reset();
    }

    /**
     * Returns the tokens to take from the bucket: more than it holds if the limit allows nothing.
     *
     * @throws \InvalidArgumentException as Symfony's limiters do if the call can never succeed
     */
    public function cost(int $tokens): int
    {
        if ($this->limit < 1) {
            return 2;
        }
        $this->deniesMore || $this->check($tokens);
        return $tokens;
    }

    /** Describes the decision on a call for cost() tokens. */
    public function describe(Decision $decision): RateLimit
    {
        return RateLimit::of($decision, $this->limit, $this->bucket instanceof Quota);
    }

    private function check(int $tokens): void
    {
        if ($tokens > $this->limit) {
            throw new \InvalidArgumentException(sprintf('Cannot reserve more tokens (%d) than the %s of the rate limiter (%d).', $tokens, $this->size, $this->limit));
        }
    }
}

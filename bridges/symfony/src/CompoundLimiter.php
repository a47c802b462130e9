<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use TokenBucket;

/** Takes tokens from all its buckets, or from none. Replaces Symfony's class of this name. */
final class CompoundLimiter implements LimiterInterface
{
    /** @param LimiterInterface[] $limiters */
    public function __construct(private readonly array $limiters)
    {
        if ($limiters === []) {
            throw new \LogicException(sprintf('"%s()" require at least one limiter.', __METHOD__));
        }
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): never
    {
        throw new ReserveNotSupportedException(self::class);
    }

    public function consume(int $tokens = 1): SymfonyRateLimit
    {
        $others = $this->limiters;
        $results = [];
        $buckets = array_filter($this->limiters, static fn (LimiterInterface $limiter) => $limiter instanceof BucketLimiter);
        if ($tokens > 0 && $buckets !== []) {
            array_walk($buckets, static fn (BucketLimiter $limiter) => $limiter->check($tokens));
            $decision = TokenBucket::attemptAll(array_map(static fn (BucketLimiter $limiter) => $limiter->bucket, $buckets), $tokens);
            if (!$decision->allowed) {
                return RateLimit::of($decision);
            }
            $results[] = RateLimit::of($decision);
            $others = array_diff_key($this->limiters, $buckets);
        }
        foreach ($others as $limiter) {
            $results[] = $limiter->consume($tokens);
        }
        // A denial comes first, and then the fewest tokens left.
        usort($results, static fn (SymfonyRateLimit $a, SymfonyRateLimit $b) => [$a->isAccepted(), $a->getRemainingTokens()] <=> [$b->isAccepted(), $b->getRemainingTokens()]);
        return $results[0];
    }

    public function reset(): void
    {
        foreach ($this->limiters as $limiter) {
            $limiter->reset();
        }
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\CompoundLimiter as SymfonyCompoundLimiter;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use TokenBucket;
use TokenBucket\Quota;

/**
 * Takes tokens from all its limiters, or from none. Replaces Symfony's class of this name.
 *
 * The buckets decide at once. Other limiters take their tokens before, and get them back if a later
 * limiter denies.
 */
final class CompoundLimiter implements LimiterInterface
{
    /** @var list<BucketLimiter> */
    private readonly array $buckets;
    /** @var list<LimiterInterface> the limiters that use no bucket */
    private readonly array $others;

    /** @param LimiterInterface[] $limiters */
    public function __construct(array $limiters)
    {
        if ($limiters === []) {
            throw new \LogicException(sprintf('"%s::%s()" require at least one limiter.', SymfonyCompoundLimiter::class, SymfonyCompoundLimiter::class . '::__construct'));
        }
        $buckets = $others = [];
        foreach ($limiters as $limiter) {
            if ($limiter instanceof self) {
                array_push($buckets, ...$limiter->buckets);
                array_push($others, ...$limiter->others);
            } elseif ($limiter instanceof BucketLimiter) {
                $buckets[] = $limiter;
            } else {
                $others[] = $limiter;
            }
        }
        $this->buckets = $buckets;
        $this->others = $others;
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): never
    {
        throw new ReserveNotSupportedException(SymfonyCompoundLimiter::class);
    }

    public function consume(int $tokens = 1): SymfonyRateLimit
    {
        if ($tokens < 1) {
            return self::strictest(array_map(static fn (LimiterInterface $limiter) => $limiter->consume($tokens), [...$this->buckets, ...$this->others]));
        }
        $takes = array_map(static fn (BucketLimiter $limiter) => [$limiter->bucket, $limiter->cost($tokens)], $this->buckets);
        return $this->others === [] ? $this->take($takes) : $this->takeWithOthers($takes, $tokens);
    }

    public function reset(): void
    {
        foreach ([...$this->buckets, ...$this->others] as $limiter) {
            $limiter->reset();
        }
    }

    /** @param list<array{TokenBucket, int}> $takes the tokens to take from each of the buckets */
    private function take(array $takes): RateLimit
    {
        $decision = TokenBucket::attemptAll($takes);
        $hasQuota = array_filter($takes, static fn (array $take) => $take[0] instanceof Quota) !== [];
        return $decision->allowed ? RateLimit::of($decision, ofQuota: $hasQuota) : $this->buckets[$decision->refusedBy]->describe($decision);
    }

    /** @param list<array{TokenBucket, int}> $takes as for take() */
    private function takeWithOthers(array $takes, int $tokens): SymfonyRateLimit
    {
        // If a bucket would deny now, no limiter is changed.
        foreach ($takes as $i => [$bucket, $cost]) {
            $decision = $bucket->peek($cost);
            if (!$decision->allowed) {
                return $this->buckets[$i]->describe($decision);
            }
        }
        $results = $taken = [];
        $accepted = false;
        try {
            foreach ($this->others as $limiter) {
                $results[] = $limiter->consume($tokens);
                if (!end($results)->isAccepted()) {
                    return end($results);
                }
                $taken[] = $limiter;
            }
            if ($takes !== []) {
                $results[] = $this->take($takes);
            }
            $accepted = end($results)->isAccepted();
            return self::strictest($results);
        } finally {
            if (!$accepted) {
                array_walk($taken, static fn (LimiterInterface $limiter) => self::giveBack($limiter, $tokens));
            }
        }
    }

    private static function giveBack(LimiterInterface $limiter, int $tokens): void
    {
        try {
            // As in Symfony, a negative number gives tokens back.
            $limiter->consume(-$tokens);
        } catch (\Throwable) {
            // A limiter of the application may refuse that. Its tokens are lost, as in Symfony.
        }
    }

    /** @param non-empty-list<SymfonyRateLimit> $results */
    private static function strictest(array $results): SymfonyRateLimit
    {
        // A denial comes first, and then the fewest tokens left.
        usort($results, static fn (SymfonyRateLimit $a, SymfonyRateLimit $b) => [$a->isAccepted(), $a->getRemainingTokens()] <=> [$b->isAccepted(), $b->getRemainingTokens()]);
        return $results[0];
    }
}

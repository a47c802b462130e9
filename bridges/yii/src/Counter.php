<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Yii;

use TokenBucket;
use TokenBucketStorage;
use Yiisoft\Yii\RateLimiter\CounterInterface;
use Yiisoft\Yii\RateLimiter\CounterState;

/** Counts the hits of Yii3's LimitRequestsMiddleware with a bucket. */
final class Counter implements CounterInterface
{
    /**
     * @param int $limit the hits that the bucket holds; greater than 0
     * @param int $periodInSeconds the seconds in which the bucket is refilled; greater than 0
     * @param string $prefix separates counters that get the same ids
     */
    public function __construct(
        private readonly TokenBucketStorage $storage,
        private readonly int $limit,
        private readonly int $periodInSeconds,
        private readonly string $prefix = 'rate-limiter-',
    ) {
    }

    public function hit(string $id): CounterState
    {
        $bucket = new TokenBucket($this->storage, $this->prefix . $id, $this->limit, $this->limit / $this->periodInSeconds);
        $decision = $bucket->attempt();
        // The middleware refuses every state with 0 remaining hits, so the last hit reports 1.
        $remaining = $decision->allowed ? max(1, (int) $decision->remaining) : 0;
        return new CounterState(
            $this->limit,
            $remaining,
            (int) ceil(microtime(true) + $decision->resetAfter),
            $decision->fallback,
        );
    }
}

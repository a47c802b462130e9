<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Yii;

use InvalidArgumentException;
use TokenBucketStorage;
use Yiisoft\Yii\RateLimiter\CounterInterface;
use Yiisoft\Yii\RateLimiter\CounterState;

/** Counts the hits of Yii3's LimitRequestsMiddleware with a bucket. */
final class Counter implements CounterInterface
{
    private readonly string $name;

    /**
     * @param int $limit the hits that the bucket holds; with 0, every hit is over the limit
     * @param int $periodInSeconds the seconds in which the bucket is refilled; greater than 0
     * @param ?string $prefix separates counters that get the same ids. Null separates only counters
     *     of different projects
     */
    public function __construct(
        private readonly TokenBucketStorage $storage,
        private readonly int $limit,
        private readonly int $periodInSeconds,
        ?string $prefix = null,
    ) {
        if ($periodInSeconds < 1) {
            throw new InvalidArgumentException('The period must be a positive value.');
        }
        $this->name = $prefix ?? 'rate-limiter-' . Bucket::project();
    }

    public function hit(string $id): CounterState
    {
        $decision = Bucket::take($this->storage, "counter:$this->name", $id, $this->limit, $this->periodInSeconds);
        // The middleware refuses every state with 0 remaining hits, so the last hit reports 1.
        $remaining = $decision->allowed ? max(1, Bucket::integer($decision->remaining)) : 0;
        return new CounterState(
            $this->limit,
            $remaining,
            (int) ceil(microtime(true) + Bucket::secondsUntilFull($decision, $this->periodInSeconds)),
            $decision->fallback,
        );
    }
}

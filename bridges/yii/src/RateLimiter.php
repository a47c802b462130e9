<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Yii;

use TokenBucket;
use TokenBucketStorage;
use TokenBucketStorageSharedMemory;
use yii\filters\RateLimiter as YiiRateLimiter;
use yii\web\TooManyRequestsHttpException;

/**
 * Replaces the filter yii\filters\RateLimiter of Yii2.
 *
 * The user's getRateLimit() still states the limit and the seconds. loadAllowance() and
 * saveAllowance() are not called.
 */
class RateLimiter extends YiiRateLimiter
{
    /** The storage of the buckets. Null means this host's shared memory. */
    public ?TokenBucketStorage $storage = null;

    /** A bucket's name is this prefix and the user's id. */
    public string $prefix = 'yii:';

    /** @throws TooManyRequestsHttpException if the user's bucket is empty */
    public function checkRateLimit($user, $request, $response, $action)
    {
        [$limit, $seconds] = $user->getRateLimit($request, $action);
        $this->storage ??= new TokenBucketStorageSharedMemory();
        $decision = (new TokenBucket($this->storage, $this->prefix . $user->getId(), $limit, $limit / $seconds))->attempt();
        $this->addRateLimitHeaders($response, $limit, (int) $decision->remaining, (int) ceil($decision->resetAfter));
        if (!$decision->allowed) {
            throw new TooManyRequestsHttpException($this->errorMessage);
        }
    }
}

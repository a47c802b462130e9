<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Yii;

use Closure;
use TokenBucket;
use TokenBucketStorage;
use TokenBucketStorageSharedMemory;
use yii\base\InvalidConfigException;
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

    /** Begins the names of the buckets. */
    public string $prefix = 'yii:';

    /**
     * Returns the name of the limited user. Null means the user's getId(), which a user that only
     * implements RateLimitInterface may lack.
     *
     * @var ?Closure($user, $request, $action): string
     */
    public ?Closure $key = null;

    /**
     * @throws TooManyRequestsHttpException if the user's bucket is empty
     * @throws InvalidConfigException if $key is missing
     */
    public function checkRateLimit($user, $request, $response, $action)
    {
        if ($this->key === null && !method_exists($user, 'getId')) {
            throw new InvalidConfigException('Set "key", because the user has no getId().');
        }
        $key = $this->key === null ? $user->getId() : ($this->key)($user, $request, $action);
        [$limit, $seconds] = $user->getRateLimit($request, $action);
        $this->storage ??= new TokenBucketStorageSharedMemory();
        // With its numbers, because a user may have other limits for other actions.
        $decision = (new TokenBucket($this->storage, "$this->prefix$key|$limit|$seconds", $limit, $limit / $seconds))->attempt();
        $this->addRateLimitHeaders($response, $limit, (int) $decision->remaining, (int) ceil($decision->resetAfter));
        if (!$decision->allowed) {
            throw new TooManyRequestsHttpException($this->errorMessage);
        }
    }
}

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

    /** The start of the buckets' names. Null separates only buckets of different projects. */
    public ?string $prefix = null;

    /**
     * Returns the name of the limited user, or of the user and the action if their limits differ.
     * Null means the user's class and getId(), which a user that only implements RateLimitInterface
     * may lack.
     *
     * @var ?Closure($user, $request, $action): string
     */
    public ?Closure $key = null;

    /** @throws InvalidConfigException if the extension is missing */
    public function init()
    {
        parent::init();
        if (!class_exists(TokenBucket::class)) {
            throw new InvalidConfigException(sprintf('%s needs the extension tokenbucket, which %s does not load.', self::class, php_ini_loaded_file() ?: 'this PHP'));
        }
        $this->storage ??= new TokenBucketStorageSharedMemory();
    }

    /**
     * @throws TooManyRequestsHttpException if the user's bucket is empty
     * @throws InvalidConfigException if $key is missing
     */
    public function checkRateLimit($user, $request, $response, $action)
    {
        if ($this->key === null && !method_exists($user, 'getId')) {
            throw new InvalidConfigException('Set "key", because the user has no getId().');
        }
        // Users of another class, for example administrators, may have the same ids.
        $key = $this->key === null ? $user::class . ":{$user->getId()}" : ($this->key)($user, $request, $action);
        [$limit, $seconds] = $user->getRateLimit($request, $action);
        // Numbers from the user's record may be strings.
        [$limit, $seconds] = [0 + $limit, 0 + $seconds];
        $decision = Bucket::take($this->storage, $this->prefix ?? 'yii:' . Bucket::project(), (string) $key, $limit, $seconds);
        $remaining = $decision->allowed ? Bucket::integer($decision->remaining) : 0;
        $this->addRateLimitHeaders($response, $limit, $remaining, (int) ceil(Bucket::secondsUntilFull($decision, $seconds)));
        if (!$decision->allowed) {
            throw new TooManyRequestsHttpException($this->errorMessage);
        }
    }
}

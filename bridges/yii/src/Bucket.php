<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Yii;

use Composer\InstalledVersions;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucketStorage;

/** Takes a token from the bucket of a limit, within the bounds of a bucket. */
final class Bucket
{
    /** The highest rate of a bucket, in tokens a second. */
    private const MAX_RATE = 1e15;
    /** The longest span of a bucket is 36 years. This is a little less. */
    private const MAX_SECONDS = 1e9;

    /**
     * Takes a token.
     *
     * @param string $name the name of the counter or filter
     * @param string $key the limited client or user
     */
    public static function take(TokenBucketStorage $storage, string $name, string $key, int|float $limit, int|float $seconds): Decision
    {
        // The length of the name comes first, so that no other name and key make the same
        // identifier. The numbers may be computed for each request, so they are no part of it.
        $identifier = strlen($name) . ":$name:$key";
        $rate = min(self::MAX_RATE, max(1, $limit) / min($seconds, self::MAX_SECONDS));
        // A limit below 1 asks for more tokens than the bucket holds.
        return (new TokenBucket($storage, $identifier, max(1, $limit), $rate))->attempt($limit < 1 ? 2 : 1);
    }

    /**
     * Returns the seconds until the bucket is full: the whole period if the limit is 0, or the time
     * until the call should be repeated if the store did not decide.
     */
    public static function secondsUntilFull(Decision $decision, int|float $seconds): int|float
    {
        return match ($decision->reason) {
            'granted', 'insufficient_tokens' => $decision->resetAfter,
            'exceeds_capacity' => $seconds,
            default => $decision->retryAfter,
        };
    }

    /** Returns the nearest integer below, because a capacity may be beyond the integers. */
    public static function integer(float $tokens): int
    {
        return $tokens >= PHP_INT_MAX ? PHP_INT_MAX : (int) $tokens;
    }

    /** Returns a hash of the project's directory, which separates applications on one store. */
    public static function project(): string
    {
        return substr(md5(class_exists(InstalledVersions::class) ? InstalledVersions::getRootPackage()['install_path'] : __DIR__), 0, 12) . ':';
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Finds the methods of TokenBucket that a subclass overrides. */
final class Overrides
{
    /** @var array<class-string, array<string, bool>> */
    private static array $known = [];

    public static function hasOwnPrices(\TokenBucket $bucket): bool
    {
        return self::has($bucket, '_tokens_to_seconds');
    }

    public static function hasOwnBootstrap(\TokenBucket $bucket): bool
    {
        return self::has($bucket, '_bootstrap');
    }

    private static function has(\TokenBucket $bucket, string $method): bool
    {
        $class = get_class($bucket);
        return self::$known[$class][$method] ??= (new \ReflectionMethod($class, $method))->class !== \TokenBucket::class;
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Foundation\Application;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis;
use Illuminate\Support\ServiceProvider;
use TokenBucket\OnFailure;
use TokenBucketStorage;
use TokenBucketStorageMemcached;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;

/** Replaces Laravel's throttle middleware and rate limiter in the container. */
final class TokenBucketServiceProvider extends ServiceProvider
{
    private const CONFIG = __DIR__ . '/../config/tokenbucket.php';
    private const MEMCACHED = 'memcached://';

    public function register(): void
    {
        $this->mergeConfigFrom(self::CONFIG, 'tokenbucket');
        if (!$this->app['config']['tokenbucket.enabled']) {
            return;
        }
        $this->app->singletonIf(TokenBucketStorage::class, self::storage(...));
        $this->app->singleton(Buckets::class, fn (Application $app) => new Buckets(
            $app->make(TokenBucketStorage::class),
            $app['config']['tokenbucket.limits'],
        ));
        $this->app->bind(LaravelThrottleRequests::class, ThrottleRequests::class);
        $this->app->bind(ThrottleRequestsWithRedis::class, ThrottleRequests::class);
        // Not a binding, because Laravel's deferred provider of the cache would replace it.
        $this->app->extend(LaravelRateLimiter::class, fn (LaravelRateLimiter $limiter, Application $app) => new RateLimiter(
            $limiter,
            $app->make(Buckets::class),
        ));
    }

    public function boot(): void
    {
        $this->publishes([self::CONFIG => $this->app->configPath('tokenbucket.php')], 'tokenbucket');
    }

    private static function storage(Application $app): TokenBucketStorage
    {
        $config = $app['config'];
        $dsn = $config['tokenbucket.storage'];
        $prefix = $config['tokenbucket.prefix'] ?? (string) $config['cache.prefix'];
        if ($dsn === 'shared-memory') {
            return new TokenBucketStorageSharedMemory($prefix);
        }
        $arguments = [$prefix, (float) $config['tokenbucket.timeout'], constant(OnFailure::class . '::' . $config['tokenbucket.on_failure'])];
        return str_starts_with($dsn, self::MEMCACHED)
            ? new TokenBucketStorageMemcached(substr($dsn, strlen(self::MEMCACHED)), ...$arguments)
            : new TokenBucketStorageRedis($dsn, ...$arguments);
    }
}

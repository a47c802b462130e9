<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Illuminate\Cache\CacheServiceProvider;
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
        if (!$this->app['config']->get('tokenbucket')['enabled']) {
            return;
        }
        $this->app->singletonIf(TokenBucketStorage::class, self::storage(...));
        $this->app->singleton(Buckets::class, fn (Application $app) => new Buckets(
            $app->make(TokenBucketStorage::class),
            $app['config']->get('tokenbucket')['limits'],
        ));
        // Otherwise Laravel registers this provider with the first cache, and replaces the limiter.
        $this->app->register(CacheServiceProvider::class);
        $this->app->singleton(LaravelRateLimiter::class, fn (Application $app) => new RateLimiter(
            fn () => $app->make('cache')->driver($app['config']->get('cache.limiter')),
            $app->make(Buckets::class),
        ));
        // A function, because the container would find the constructor's arguments by reflection.
        $throttle = fn (Application $app) => new ThrottleRequests($app->make(LaravelRateLimiter::class), $app->make(Buckets::class));
        $this->app->bind(LaravelThrottleRequests::class, $throttle);
        $this->app->bind(ThrottleRequestsWithRedis::class, $throttle);
    }

    public function boot(): void
    {
        if ($this->app->runningInConsole()) {
            $this->publishes([self::CONFIG => $this->app->configPath('tokenbucket.php')], 'tokenbucket');
        }
    }

    private static function storage(Application $app): TokenBucketStorage
    {
        // One look-up, because the configuration searches for each name with a dot in parts.
        $settings = $app['config']->get('tokenbucket');
        $dsn = $settings['storage'];
        $prefix = $settings['prefix'] ?? (string) $app['config']['cache.prefix'];
        if ($dsn === 'shared-memory') {
            return new TokenBucketStorageSharedMemory($prefix);
        }
        $arguments = [$prefix, (float) $settings['timeout'], constant(OnFailure::class . "::$settings[on_failure]")];
        return str_starts_with($dsn, self::MEMCACHED)
            ? new TokenBucketStorageMemcached(substr($dsn, strlen(self::MEMCACHED)), ...$arguments)
            : new TokenBucketStorageRedis($dsn, ...$arguments);
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Auth\Authenticatable;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Foundation\Application;
use Illuminate\Contracts\Foundation\CachesConfiguration;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis;
use Illuminate\Support\ServiceProvider;
use RuntimeException;
use TokenBucket;
use TokenBucket\Bridge\Laravel\Console\BucketCommand;
use TokenBucket\OnFailure;
use TokenBucketStorage;
use TokenBucketStorageMemcached;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;
use ValueError;

/** Replaces Laravel's throttle middleware and rate limiter in the container. */
final class TokenBucketServiceProvider extends ServiceProvider
{
    private const CONFIG = __DIR__ . '/../config/tokenbucket.php';
    private const MEMCACHED = 'memcached://';
    /**
     * The values of settings that are missing or empty, for example because of
     * "TOKENBUCKET_STORAGE=".
     */
    private const DEFAULTS = ['storage' => 'shared-memory', 'timeout' => 0.05, 'on_failure' => 'Local'];
    /** The settings of an operator's command, which fails if the store fails. */
    private const OF_OPERATOR = ['timeout' => 2.0, 'on_failure' => 'Throw'];

    /** Separates the buckets of each application of a test run. */
    private ?string $ofTest = null;

    public function register(): void
    {
        $app = $this->app;
        $this->mergeConfigFrom(self::CONFIG, 'tokenbucket');
        // A single look-up, because each one takes time in every request.
        $config = $app['config'];
        $settings = $config->get('tokenbucket');
        // A configuration that was cached before the bridge was installed leaves all limits to
        // Laravel until it is cached again.
        if (!is_array($settings) || !($settings['enabled'] ?? true)) {
            return;
        }
        if (!class_exists(TokenBucket::class)) {
            throw new RuntimeException(sprintf('tokenbucket/laravel needs the extension tokenbucket, which %s does not load. TOKENBUCKET_ENABLED=false in .env leaves all limits to Laravel.', php_ini_loaded_file() ?: 'this PHP'));
        }
        $windows = new Windows($settings['windows'] ?? '', $config->get('app.timezone') ?? 'UTC');
        $limits = fn () => $config->get('tokenbucket')['limits'] ?? [];
        $buckets = new Buckets(fn () => $this->storage($config, []), $limits, $windows);
        $makeCache = fn () => $app->make('cache')->driver($config->get('cache.limiter'));
        $limiter = new RateLimiter($makeCache, $buckets);
        // When the first cache is made, Laravel binds a limiter of its own, which this call
        // replaces.
        $app->extend(
            LaravelRateLimiter::class,
            fn (LaravelRateLimiter $bound) => $bound::class === LaravelRateLimiter::class ? $limiter : $bound,
        );
        $app->instance(LaravelRateLimiter::class, $limiter);
        $app->instance(Buckets::class, $buckets);
        // A worker that serves several requests knows the numbers of the current one only.
        $app->rebinding('request', fn () => $limiter->forget());
        // A function, because otherwise the container would find the constructor's arguments by
        // reflection, which takes time in each request. Laravel makes each middleware of a route
        // twice, so the container keeps it.
        $app->singleton(LaravelThrottleRequests::class, fn (Application $app) => new ThrottleRequests($app->make(LaravelRateLimiter::class), $buckets, (bool) ($settings['observe'] ?? false)));
        $app->alias(LaravelThrottleRequests::class, ThrottleRequestsWithRedis::class);
        if ($app->runningInConsole()) {
            $ofOperator = new Buckets(fn () => $this->storage($config, self::OF_OPERATOR), $limits, $windows);
            $ofOperator->useCache($makeCache);
            $this->addCommands($ofOperator);
        }
    }

    public function boot(): void
    {
        if ($this->app->runningInConsole()) {
            $this->publishes([self::CONFIG => $this->app->configPath('tokenbucket.php')], 'tokenbucket');
        }
        if (!$this->app instanceof CachesConfiguration || !$this->app->configurationIsCached()) {
            // Until the application has booted, other providers may bind a storage.
            $this->app->booted(fn (Application $app) => $this->check($app, $app['config']));
        }
    }

    /** Reports a wrong setting when the application starts, or when its configuration is cached. */
    private function check(Application $app, Repository $config): void
    {
        $settings = $config->get('tokenbucket');
        $unknown = array_key_first(array_diff_key($settings, require self::CONFIG));
        if ($unknown !== null) {
            throw new ValueError("The setting tokenbucket.$unknown in config/tokenbucket.php is unknown");
        }
        foreach ($settings['limits'] ?? [] as $key => $numbers) {
            if (!is_array($numbers) || array_keys(array_filter($numbers, is_numeric(...))) !== [0, 1] || count($numbers) > 2) {
                throw new ValueError("The setting tokenbucket.limits in config/tokenbucket.php needs the attempts and the seconds of \"$key\"");
            }
        }
        if ($settings['enabled'] && !$app->bound(TokenBucketStorage::class)) {
            $this->storage($config, []);
        }
    }

    private function addCommands(Buckets $buckets): void
    {
        $names = [];
        foreach (array_keys(BucketCommand::DESCRIPTIONS) as $action) {
            $this->app->bind($names[] = "tokenbucket.$action", fn (Application $app) => new BucketCommand(
                $action,
                $app->make(LaravelRateLimiter::class),
                $buckets,
                fn (string $id) => self::user($app, $id),
            ));
        }
        $this->commands($names);
    }

    /** Returns a user of the default guard. */
    private static function user(Application $app, string $id): ?Authenticatable
    {
        $guard = $app['config']->get('auth.defaults.guard');
        $provider = $app['config']->get("auth.guards.$guard.provider");
        return $provider === null ? null : $app->make('auth')->createUserProvider($provider)?->retrieveById($id);
    }

    /** @param array<string, mixed> $others settings that replace those of the configuration */
    private function storage(Repository $config, array $others): TokenBucketStorage
    {
        $app = $this->app;
        if ($app->bound(TokenBucketStorage::class)) {
            return $app->make(TokenBucketStorage::class);
        }
        $settings = $others + array_filter($config->get('tokenbucket'), fn ($setting) => $setting !== null && $setting !== '') + self::DEFAULTS;
        $dsn = $settings['storage'];
        // The items of the cache begin with the cache's prefix, and other applications may have the
        // same prefix. So the prefix of the buckets begins with a word and ends with a hash.
        $prefix = $settings['prefix'] ?? 'tokenbucket:' . ($config->get('cache')['prefix'] ?? '') . substr(md5($app->basePath()), 0, 12) . ':';
        if ($app->runningInConsole() && $app->runningUnitTests()) {
            // Each test has an application of its own, and begins with full buckets.
            $prefix .= ($this->ofTest ??= bin2hex(random_bytes(8))) . ':';
        }
        if ($dsn === 'shared-memory') {
            return new TokenBucketStorageSharedMemory($prefix);
        }
        $arguments = ['prefix' => $prefix, 'timeout' => (float) $settings['timeout'], 'onFailure' => self::onFailure($settings['on_failure']), 'denialCache' => $others === []];
        try {
            return str_starts_with($dsn, self::MEMCACHED)
                ? new TokenBucketStorageMemcached(substr($dsn, strlen(self::MEMCACHED)), ...$arguments)
                : new TokenBucketStorageRedis($dsn, ...$arguments);
        } catch (ValueError $e) {
            $setting = match (true) {
                str_contains($e->getMessage(), '($timeout)') => 'timeout',
                str_contains($e->getMessage(), '($prefix)') => 'prefix',
                default => 'storage',
            };
            // The trace of $e has the DSN, which may contain a password.
            throw new ValueError("Invalid setting tokenbucket.$setting in config/tokenbucket.php: {$e->getMessage()}");
        }
    }

    /** @throws ValueError for an unknown policy */
    private static function onFailure(OnFailure|string $policy): OnFailure
    {
        foreach (OnFailure::cases() as $case) {
            if ($policy === $case || (is_string($policy) && strcasecmp($policy, $case->name) === 0)) {
                return $case;
            }
        }
        throw new ValueError("The setting tokenbucket.on_failure in config/tokenbucket.php must be Local, Allow, Deny or Throw, not \"$policy\"");
    }
}

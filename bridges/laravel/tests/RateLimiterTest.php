<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\CacheServiceProvider;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Foundation\Bootstrap\LoadConfiguration;
use Illuminate\Foundation\Bootstrap\RegisterFacades;
use Illuminate\Foundation\Bootstrap\RegisterProviders;
use Illuminate\Queue\Middleware\RateLimited;
use Illuminate\Queue\Middleware\RateLimitedWithRedis;
use Illuminate\Queue\Middleware\ThrottlesExceptions;
use RedisServer;
use RuntimeException;
use TokenBucket\Bridge\Laravel\Buckets;

require_once dirname(__DIR__, 3) . '/tools/testkit/php/servers.php';

enum Limiter: string
{
    case Jobs = 'jobs';
}

final class RateLimiterTest extends BridgeTestCase
{
    public function testAttemptTakesATokenBeforeTheCallback(): void
    {
        $limiter = $this->limiter();
        $nested = null;
        $result = $limiter->attempt('k', 1, function () use ($limiter, &$nested) {
            $nested = $limiter->attempt('k', 1, fn () => 'nested');
            return 'outer';
        });
        $this->assertSame(['outer', false], [$result, $nested]);
        $this->assertTrue($limiter->tooManyAttempts('k', 1));
        $this->assertSame(60, $limiter->availableIn('k'));
        $this->advance(60);
        $this->assertTrue($limiter->attempt('k', 1, fn () => null));
        $this->assertFalse($limiter->attempt('none', 0, fn () => true));
        // Laravel 8 returns true instead of any empty result.
        $empty = method_exists(LaravelRateLimiter::class, 'increment') ? '' : true;
        $this->assertSame($empty, $limiter->attempt('empty', 1, fn () => ''));
    }

    public function testAttemptGivesTheTokenBackIfTheCallbackThrows(): void
    {
        try {
            $this->limiter()->attempt('k', 1, fn () => throw new RuntimeException('x'));
            $this->fail('no exception');
        } catch (RuntimeException $e) {
            $this->assertSame('x', $e->getMessage());
        }
        $this->assertSame('again', $this->limiter()->attempt('k', 1, fn () => 'again'));
    }

    public function testOtherProcessesKnowDeclaredKeysAndClearEveryKey(): void
    {
        $this->limiter()->attempt('login:a', 3, fn () => true, 300);
        // Numbers from the environment are strings.
        $declared = $this->another(['login:*' => ['3', '300']]);
        $this->assertSame(2, $declared->remaining('login:a', 3));
        $this->assertSame(2, $declared->hit('login:a', 300));
        $this->assertSame(3, $declared->increment('login:a', 300));
        $this->assertTrue($declared->tooManyAttempts('login:a', 3));
        $this->assertSame(100, $declared->availableIn('login:a'));
        $this->assertSame(4, $declared->hit('login:a', 300));
        $this->assertSame(200, $declared->availableIn('login:a'));
        $this->assertSame(3, $declared->increment('login:a', 300, -1));
        $this->another()->clear('login:a');
        $this->assertSame(0, $declared->attempts('login:a'));
    }

    public function testKeysThatAreNotDeclaredUseTheCache(): void
    {
        $limiter = $this->limiter();
        $this->assertFalse($limiter->tooManyAttempts('jôhn', 2));
        $this->assertSame(1, $limiter->hit('jôhn'));
        $this->assertSame(2, $limiter->hit('jôhn'));
        $this->assertTrue($limiter->tooManyAttempts('jôhn', 2));
        $this->assertEquals(2, $limiter->attempts('jôhn'));
        $this->advance(3600);
        $this->assertTrue($limiter->tooManyAttempts('jôhn', 2));
        $limiter->clear('jôhn');
        $this->assertFalse($limiter->tooManyAttempts('jôhn', 2));
    }

    public function testKeysMayBeIntegers(): void
    {
        $this->assertFalse($this->limiter()->tooManyAttempts(7, 1));
        $this->assertSame(1, $this->limiter()->hit(7));
        $this->assertTrue($this->limiter()->attempt(8, 1, fn () => true));
        $this->assertTrue($this->limiter()->tooManyAttempts(8, 1));
        $this->limiter()->clear(8);
        $this->assertSame(1, $this->limiter()->remaining(8, 1));
    }

    public function testAnExpiredCounterDoesNotFillTheBucket(): void
    {
        $limiter = $this->limiter();
        $limiter->attempt('k', 1, fn () => true);
        // Without the numbers of the key, the other process uses the counter.
        $this->cache()->flush();
        $other = $this->another();
        $this->assertFalse($other->tooManyAttempts('k', 0));
        $this->assertFalse($limiter->attempt('k', 1, fn () => true));
    }

    public function testAWindowAsksTheCacheOnce(): void
    {
        $this->route('throttle:5,1');
        $this->assertFalse($this->app->resolved('cache'));
        $this->assertAnswer(200, 5, 4);
        $this->assertTrue($this->app->resolved('cache'));
        // Without the cache, the first numbers are known.
        $this->cache()->flush();
        $this->assertAnswer(200, 5, 3);
        $this->app->make('cache')->extend('broken', fn () => throw new \RuntimeException('not asked'));
        $this->app['config']->set(['cache.default' => 'broken', 'cache.limiter' => 'broken', 'cache.stores.broken' => ['driver' => 'broken']]);
        $this->assertAnswer(200, 5, 2);
    }

    public function testTheFirstCacheLeavesTheLimiter(): void
    {
        $limiter = $this->limiter();
        $limiter->for('named', fn () => Limit::perMinute(1));
        $this->assertFalse($this->app->providerIsLoaded(CacheServiceProvider::class));
        $this->cache()->put('k', 3);
        // This provider binds Laravel's own limiter.
        $this->assertTrue($this->app->providerIsLoaded(CacheServiceProvider::class));
        $this->assertSame($limiter, $this->limiter());
        $this->assertNotNull($limiter->limiter('named'));
        $this->assertSame(3, $limiter->attempts('k'));
    }

    public function testALimiterOfTheApplicationReplacesTheLimiter(): void
    {
        $own = new class ($this->cache()) extends LaravelRateLimiter {};
        $this->app->singleton(LaravelRateLimiter::class, fn () => $own);
        $this->assertSame($own, $this->limiter());
    }

    public function testAJobTakesATokenOfEveryLimitOrOfNone(): void
    {
        $this->limiter()->for('jobs', fn () => [Limit::perHour(3)->by('a'), Limit::perMinute(2)->by('b')]);
        $this->assertSame('ran', $this->runJob());
        $this->assertSame('ran', $this->runJob());
        for ($i = 0; $i < 5; $i++) {
            // Each refused job has a place of its own.
            $this->assertSame(33 + 30 * $i, $this->runJob());
        }
        $this->advance(60);
        $this->assertSame('ran', $this->runJob());
        $this->assertSame(1200 + 3, $this->runJob());
        $this->assertSame(0, $this->limiter()->remaining(md5('jobsa'), 3));
        $this->assertSame(1, $this->limiter()->remaining(md5('jobsb'), 2));
    }

    public function testAJobWaitsForTheLimitThatRefuses(): void
    {
        $this->limiter()->for('jobs', fn () => Limit::perHour(0));
        $this->assertSame(3603, $this->runJob());
        // In Laravel 8 and 10, both limits have one key.
        $this->limiter()->for('jobs', fn () => [Limit::perMinute(1), Limit::perHour(100)]);
        $this->assertSame('ran', $this->runJob());
        $this->assertSame(63, $this->runJob());
    }

    public function testEachApplicationOfATestRunBeginsWithFullBuckets(): void
    {
        $granted = [];
        for ($i = 0; $i < 2; $i++) {
            $app = require APPLICATION . '/bootstrap/app.php';
            $app->bootstrapWith([LoadConfiguration::class, RegisterFacades::class, RegisterProviders::class]);
            $app['env'] = 'testing';
            $limiter = $app->make(LaravelRateLimiter::class);
            $granted[] = $limiter->attempt('k', 1, fn () => true, 3600);
            $granted[] = $limiter->attempt('k', 1, fn () => true, 3600);
        }
        $this->assertSame([true, false, true, false], $granted);
    }

    public function testARequestDoesNotDecideTheLimitsOfAJob(): void
    {
        $this->limiter()->for('jobs', fn () => Limit::perHour(3)->by('a'));
        $this->route('throttle:jobs');
        $this->assertSame('ran', $this->runJob());
        $this->assertAnswer(200, 3, 1);
        // Takes no token.
        $this->assertFalse($this->limiter()->tooManyAttempts(md5('jobsa'), 3));
        $this->assertSame('ran', $this->runJob());
        $this->assertSame(1203, $this->runJob());
    }

    public function testTheNameOfALimiterMayBeAnEnum(): void
    {
        if (!function_exists('Illuminate\Support\enum_value')) {
            $this->markTestSkipped('Laravel ' . $this->app->version() . ' takes no enums.');
        }
        $this->limiter()->for(Limiter::Jobs, fn () => Limit::perHour(1)->by('a'));
        $this->limiter()->limiter(Limiter::Jobs)(new \stdClass());
        $this->assertFalse($this->limiter()->tooManyAttempts(md5('jobsa'), 1));
        $this->assertSame(3603, $this->runJob(middleware: new RateLimited(Limiter::Jobs)));
    }

    public function testConcurrentJobsPassTheMiddlewareOnce(): void
    {
        $this->limiter()->for('jobs', fn () => Limit::perHour(1));
        $inner = null;
        $outer = $this->runJob(function () use (&$inner) {
            $inner = $this->runJob();
            return 'ran';
        });
        $this->assertSame(['ran', 3603], [$outer, $inner]);
    }

    public function testRateLimitedWithRedisKeepsTheWindowOfLaravel(): void
    {
        if (!extension_loaded('redis')) {
            $this->markTestSkipped('The extension redis is missing');
        }
        $redis = RedisServer::start();
        $this->app['config']->set('database.redis.default', ['host' => '127.0.0.1', 'port' => $redis->port]);
        $this->limiter()->for('jobs', fn () => Limit::perMinute(2)->by('a'));
        $this->assertSame('ran', $this->runJob(middleware: new RateLimitedWithRedis('jobs')));
        $this->assertSame('ran', $this->runJob(middleware: new RateLimitedWithRedis('jobs')));
        $this->advance(3600);
        // The fake clock stands still, so each second of the test adds one to Laravel's 63.
        $delay = $this->runJob(middleware: new RateLimitedWithRedis('jobs'));
        $this->assertTrue($delay >= 61 && $delay < 600, "delayed by $delay");
        // Laravel's middleware for Redis counts in Redis, so the bucket of this limit is still
        // full.
        $this->assertSame('ran', $this->runJob());
        $this->assertSame('ran', $this->runJob());
        $this->assertSame(33, $this->runJob());
    }

    public function testThrottlesExceptionsKeepsTheCounterOfLaravel(): void
    {
        $ran = 0;
        $succeeds = function () use (&$ran): void {
            $ran++;
        };
        $fails = fn () => throw new RuntimeException('x');
        $middleware = (new ThrottlesExceptions(2, 10))->by('api');
        $this->assertSame([0, 0], [$this->runJob($fails, $middleware), $this->runJob($fails, $middleware)]);
        $this->advance(3600);
        $this->assertGreaterThan(3, $this->runJob($succeeds, $middleware));
        $this->assertSame(0, $ran);
        $this->limiter()->clear('laravel_throttles_exceptions:api');
        $this->assertNull($this->runJob($succeeds, $middleware));
        $this->assertSame(1, $ran);
    }

    public function testThrottlesExceptionsTakesTheTokensOfADeclaredKey(): void
    {
        $this->app->instance(LaravelRateLimiter::class, $this->another(['laravel_throttles_exceptions:*' => [2, 600]]));
        $fails = fn () => throw new RuntimeException('x');
        $middleware = (new ThrottlesExceptions(2, 10))->by('api');
        $this->assertSame([0, 0], [$this->runJob($fails, $middleware), $this->runJob($fails, $middleware)]);
        $this->assertSame(603, $this->runJob($fails, $middleware));
        $this->advance(300);
        $this->assertSame(0, $this->runJob($fails, $middleware));
    }

    public function testKeepsABoundedNumberOfKeys(): void
    {
        $buckets = $this->app->make(Buckets::class);
        for ($i = 0; $i < 300; $i++) {
            $buckets->ofKey("k$i", 1, 60);
        }
        $this->assertNull($buckets->find('k199'));
        $this->assertNotNull($buckets->find('k200'));
    }
}

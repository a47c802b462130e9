<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Queue\Middleware\RateLimited;
use Illuminate\Queue\Middleware\ThrottlesExceptions;
use Illuminate\Support\Carbon;
use RuntimeException;
use TokenBucket\OnFailure;
use TokenBucket\StorageException;
use TokenBucketStorage;
use TokenBucketStorageRedis;

/** Compares the attempts that released jobs need with the bridge and with Laravel's limiter. */
final class JobsTest extends BridgeTestCase
{
    public function testJobsNeedAsManyAttemptsAsWithTheWindowOfLaravel(): void
    {
        foreach ([[Limit::perMinute(60), 300], [Limit::perMinute(1), 5], [Limit::perMinute(7), 100], [Limit::perMinutes(10, 50), 200]] as [$limit, $jobs]) {
            [$ofLaravel, $ofBridge] = $this->attempts(fn () => $limit, new RateLimited('jobs'), $jobs);
            $this->assertCount($jobs, $ofBridge);
            $this->assertLessThanOrEqual(max($ofLaravel), max($ofBridge));
            $this->assertLessThanOrEqual(array_sum($ofLaravel), array_sum($ofBridge));
        }
    }

    public function testJobsOfSeveralLimitsNeedAsManyAttemptsAsWithTheWindows(): void
    {
        $limits = fn () => [Limit::perMinute(10)->by('minute'), Limit::perHour(60)->by('hour')];
        [$ofLaravel, $ofBridge] = $this->attempts($limits, new RateLimited('jobs'), 150);
        $this->assertLessThanOrEqual(max($ofLaravel), max($ofBridge));
        $this->assertLessThanOrEqual(array_sum($ofLaravel), array_sum($ofBridge));
    }

    public function testJobsBehindThrottlesExceptionsNeedAsManyAttemptsAsWithTheWindow(): void
    {
        // A service that every job calls is down for two hours.
        $recovery = Carbon::create(2027)->addHours(2);
        $job = fn () => Carbon::now()->lessThan($recovery) ? throw new RuntimeException('down') : null;
        $declared = ['laravel_throttles_exceptions:*' => [10, 600]];
        $middleware = (new ThrottlesExceptions(10, $this->decay(600)))->by('api');
        [$ofLaravel, $ofBridge] = $this->attempts(fn () => [], $middleware, 40, $job, $declared);
        $this->assertLessThanOrEqual(1.1 * max($ofLaravel), max($ofBridge));
        $this->assertLessThanOrEqual(1.1 * array_sum($ofLaravel), array_sum($ofBridge));
    }

    public function testAJobWithoutALimitRuns(): void
    {
        $unlimited = [Limit::none(), Limit::perMinute(PHP_INT_MAX - 1)->by('x'), Limit::perMinutes(10 ** 9, 10 ** 17)->by('y')];
        [$ofLaravel, $ofBridge] = $this->attempts(fn () => $unlimited, new RateLimited('jobs'), 50);
        $this->assertSame($ofLaravel, $ofBridge);
        $limits = fn () => [Limit::none(), Limit::perMinute(10)->by('z')];
        [, $ofBridge] = $this->attempts($limits, new RateLimited('jobs'), 50);
        $this->assertSame([...array_fill(0, 10, 1), ...array_fill(0, 40, 2)], $ofBridge);
    }

    public function testAnUnavailableStoreReleasesAJobForAtMostAMinute(): void
    {
        $storage = new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Deny);
        $declared = ['laravel_throttles_exceptions:*' => [10, 86400]];
        $this->app->instance(TokenBucketStorage::class, $storage);
        $this->app->instance(LaravelRateLimiter::class, $this->another($declared));
        $this->assertSame(63, $this->handle(new ThrottlesExceptions(10, $this->decay(86400)), fn () => null));
        $short = Limit::perMinute(5);
        property_exists($short, 'decaySeconds') ? $short->decaySeconds = 30 : $short->decayMinutes = 0.5;
        foreach ([[Limit::perMinute(60), 63], [Limit::perDay(1000), 63], [$short, 33]] as [$limit, $seconds]) {
            $this->limiter()->for('jobs', fn () => $limit);
            $this->assertSame($seconds, $this->handle(new RateLimited('jobs'), fn () => null));
        }
    }

    public function testAJobThatSucceedsRunsOnceIfTheStoreIsNotAvailable(): void
    {
        $this->app->instance(TokenBucketStorage::class, new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Throw));
        foreach ([[], ['laravel_throttles_exceptions:*' => [10, 60]]] as $declared) {
            [$ofLaravel, $ofBridge] = $this->answers(function (LaravelRateLimiter $limiter): array {
                $ran = 0;
                foreach ([1, 2, 3] as $attempt) {
                    try {
                        $released = $this->handle(new ThrottlesExceptions(10, $this->decay(60)), function () use (&$ran): void {
                            $ran++;
                        });
                        if ($released === null) {
                            break;
                        }
                    } catch (StorageException) {
                        // The queue tries the job again.
                    }
                }
                return [$ran, $attempt];
            }, $declared);
            // A declared limit must ask the store before the job runs.
            $this->assertSame([[1, 1], $declared === [] ? [1, 1] : [0, 3]], [$ofLaravel, $ofBridge]);
        }
        $this->expectException(StorageException::class);
        $limiter = $this->another(['mine' => [5, 60]]);
        $limiter->clear('unknown');
        $limiter->clear('mine');
    }

    /**
     * Runs jobs that start together, first with Laravel's limiter and then with the bridge's.
     *
     * @param array<string, array{int, int}> $declared
     * @return array{array<int, int>, array<int, int>} the attempts of each job
     */
    private function attempts(callable $limits, object $middleware, int $jobs, ?callable $job = null, array $declared = []): array
    {
        return $this->answers(function (LaravelRateLimiter $limiter) use ($limits, $middleware, $jobs, $job): array {
            $limiter->for('jobs', fn () => $limits());
            Carbon::setTestNow(Carbon::create(2027));
            $attempts = $this->work(array_fill(0, $jobs, 0), fn () => $this->handle($middleware, $job ?? fn () => null));
            // Fills the buckets.
            $this->advance(100_000);
            return $attempts;
        }, $declared);
    }

    /** Returns the seconds for which a job is released, or null if it has run. */
    private function handle(object $middleware, callable $job): ?int
    {
        // The middleware of a job is made for each attempt.
        return $this->runJob($job, unserialize(serialize($middleware)));
    }

    /** Converts seconds to the unit of the middleware: minutes in Laravel 8 and 10. */
    private function decay(int $seconds): int
    {
        return property_exists(ThrottlesExceptions::class, 'decaySeconds') ? $seconds : intdiv($seconds, 60);
    }
}

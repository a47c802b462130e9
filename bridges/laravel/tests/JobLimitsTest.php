<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Queue\Middleware\RateLimited;
use stdClass;

/** A middleware that waits for the limits of a job and does not release the job. */
class WaitsForLimits extends RateLimited
{
    public int $waits = 0;

    /** @param callable(int): void $wait */
    public function __construct(string $name, private $wait)
    {
        parent::__construct($name);
    }

    protected function handleJob($job, $next, array $limits)
    {
        foreach ($limits as $limit) {
            while ($this->limiter->tooManyAttempts($limit->key, $limit->maxAttempts)) {
                if (++$this->waits > 100) {
                    return 'never';
                }
                ($this->wait)($this->limiter->availableIn($limit->key));
            }
            $this->limiter->hit($limit->key, 60);
        }
        return $next($job);
    }
}

/**
 * Tests applications whose own code asks for the limits of a named limiter. Compares the bridge
 * with Laravel's limiter.
 */
final class JobLimitsTest extends BridgeTestCase
{
    public function testANamedLimiterLimitsCodeThatAsksForIt(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('jobs', fn () => [Limit::perMinute(3)->by('a'), Limit::perMinute(9)->by('b')]);
            $limiter->limiter('jobs')(new stdClass());
            return array_map(fn () => $this->use($limiter, md5('jobsa')), range(1, 5));
        });
    }

    public function testAJobMayAskForItsOwnLimit(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('jobs', fn () => [Limit::perMinute(3)->by('a'), Limit::perMinute(9)->by('b')]);
            return (new RateLimited('jobs'))->handle(new stdClass(), fn () => array_map(fn () => $this->use($limiter, md5('jobsa')), range(1, 4)));
        });
    }

    public function testAHitWithoutAQuestionCounts(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('jobs', fn () => Limit::perMinute(2)->by('a'));
            $limiter->limiter('jobs')(new stdClass());
            $key = md5('jobsa');
            return [$limiter->attempts($key), $limiter->hit($key), $limiter->hit($key), $limiter->tooManyAttempts($key, 2), $limiter->attempts($key)];
        });
    }

    public function testAQuestionBeforeTheHitIsAnsweredTwiceWithOneToken(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('jobs', fn () => Limit::perMinute(1)->by('a'));
            $limiter->limiter('jobs')(new stdClass());
            $key = md5('jobsa');
            return [$limiter->tooManyAttempts($key, 1), $limiter->tooManyAttempts($key, 1), $limiter->hit($key), $limiter->tooManyAttempts($key, 1)];
        });
    }

    public function testAMiddlewareMayWaitForItsLimits(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('jobs', fn () => [Limit::perMinute(3)->by('a'), Limit::perMinute(2)->by('b')]);
            $middleware = new WaitsForLimits('jobs', function (int $seconds): void {
                // At the end of its last second, a window of Laravel 8 still denies.
                $this->pass(max(1, $seconds));
            });
            $results = array_map(fn () => $middleware->handle(new stdClass(), fn () => 'ran'), range(1, 5));
            return [$results, $middleware->waits > 0];
        });
    }

    /** Counts an attempt of a key that has at most three, and reports whether it was allowed. */
    private function use(LaravelRateLimiter $limiter, string $key): bool
    {
        if ($limiter->tooManyAttempts($key, 3)) {
            return false;
        }
        $limiter->hit($key, 60);
        return true;
    }
}

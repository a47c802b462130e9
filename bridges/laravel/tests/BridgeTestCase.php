<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Queue\Middleware\RateLimited;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Carbon;
use Illuminate\Support\Facades\Route;
use Illuminate\Testing\TestResponse;
use Orchestra\Testbench\TestCase;
use SplPriorityQueue;
use TokenBucket\Bridge\Laravel\Buckets;
use TokenBucket\Bridge\Laravel\RateLimiter as BridgeLimiter;
use TokenBucket\Bridge\Laravel\Windows;
use TokenBucketStorage;

/** A middleware of the application, which keeps Laravel's counter. */
class UnchangedThrottleRequests extends ThrottleRequests
{
}

abstract class BridgeTestCase extends TestCase
{
    protected function setUp(): void
    {
        // Stops Carbon's clock, which the clock of the buckets follows. So only advance() moves the
        // clock of the buckets.
        Carbon::setTestNow(Carbon::now());
        parent::setUp();
    }

    protected function limiter(): RateLimiter
    {
        return $this->app->make(RateLimiter::class);
    }

    protected function cache(): Repository
    {
        return $this->app->make('cache')->driver();
    }

    /**
     * Returns the bridge's limiter as another request or process has it.
     *
     * @param array<string, array> $declared attempts and seconds by pattern of keys
     */
    protected function another(array $declared = [], Windows $windows = new Windows(), ?Repository $cache = null): BridgeLimiter
    {
        $cache ??= $this->cache();
        return new BridgeLimiter(fn () => $cache, new Buckets(fn () => $this->app->make(TokenBucketStorage::class), fn () => $declared, $windows));
    }

    /** @return list<mixed> what a function returns for Laravel's limiter, and for the bridge's */
    protected function answers(callable $call, array $declared = []): array
    {
        foreach ([new RateLimiter($this->cache()), $this->another($declared)] as $limiter) {
            $this->cache()->flush();
            $this->app->instance(RateLimiter::class, $limiter);
            $answers[] = $call($limiter);
        }
        return $answers;
    }

    /** Asserts that a function returns the same for Laravel's limiter and for the bridge's. */
    protected function assertSameAnswers(callable $call): void
    {
        [$laravels, $ours] = $this->answers($call);
        $this->assertSame($laravels, $ours);
    }

    /** Advances the clock of the buckets. */
    protected function advance(float $seconds): void
    {
        $this->app->make(TokenBucketStorage::class)->advance($seconds);
    }

    /** Advances the clock of the buckets and Carbon's clock. */
    protected function pass(float $seconds): void
    {
        $this->advance($seconds);
        Carbon::setTestNow(Carbon::now()->addMicroseconds((int) round($seconds * 1e6)));
    }

    /**
     * Runs jobs at their times. A job that is released comes back later.
     *
     * @param list<float> $arrivals the seconds at which the jobs arrive
     * @param callable(int, float, int): ?int $run is called with the number of a job, its time and
     *     its attempt. Returns the seconds for which the job is released, or null if it has run
     * @return array<int, int> the attempts of each job
     */
    protected function work(array $arrivals, callable $run, int $end = PHP_INT_MAX): array
    {
        $queue = new SplPriorityQueue();
        $order = $now = 0;
        foreach ($arrivals as $id => $at) {
            $queue->insert([$id, $at], [-$at, -$order++]);
        }
        while (!$queue->isEmpty() && $queue->top()[1] <= $end) {
            [$id, $at] = $queue->extract();
            $this->pass($at - $now);
            $now = $at;
            $attempts[$id] = ($attempts[$id] ?? 0) + 1;
            $delay = $run($id, $at, $attempts[$id]);
            if ($delay !== null) {
                $queue->insert([$id, $at + $delay], [-$at - $delay, -$order++]);
            }
        }
        return $attempts;
    }

    /**
     * Returns the result of a job behind the queue's middleware, or the seconds of its release.
     *
     * @param ?int $attempts that the job states, or null if it cannot state them
     */
    protected function runJob(?callable $job = null, ?object $middleware = null, ?int $attempts = null): mixed
    {
        $queued = $attempts === null ? new class {
            public function release(int $seconds): int
            {
                return $seconds;
            }
        } : new class($attempts) {
            public function __construct(private readonly int $attempts)
            {
            }

            public function attempts(): int
            {
                return $this->attempts;
            }

            public function release(int $seconds): int
            {
                return $seconds;
            }
        };
        return ($middleware ?? new RateLimited('jobs'))->handle($queued, $job ?? fn () => 'ran');
    }

    /** Adds a route behind a middleware. */
    protected function route(string $middleware, string $path = '/'): void
    {
        Route::get($path, fn () => response('yes', (int) request('status', '200')))->middleware($middleware);
    }

    /** Requests a route, and checks the status and the headers of the limit. */
    protected function assertAnswer(int $status, ?int $limit, ?int $remaining, ?int $retryAfter = null, string $path = '/'): TestResponse
    {
        $response = $this->get($path);
        $header = fn (string $name): ?int => $response->headers->has($name) ? (int) $response->headers->get($name) : null;
        $this->assertSame(
            [$status, $limit, $remaining, $retryAfter],
            [$response->getStatusCode(), $header('X-RateLimit-Limit'), $header('X-RateLimit-Remaining'), $header('Retry-After')],
        );
        return $response;
    }
}

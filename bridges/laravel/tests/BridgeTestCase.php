<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter;
use Illuminate\Support\Carbon;
use Illuminate\Support\Facades\Route;
use Illuminate\Testing\TestResponse;
use Orchestra\Testbench\TestCase;
use TokenBucketStorage;

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

    protected function advance(float $seconds): void
    {
        $this->app->make(TokenBucketStorage::class)->advance($seconds);
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

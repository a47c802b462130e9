<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\Repository;
use RuntimeException;
use TokenBucket\Bridge\Laravel\Buckets;
use TokenBucket\Bridge\Laravel\RateLimiter;
use TokenBucketStorage;

/** Compares the methods of the facade RateLimiter with those of Laravel's limiter. */
final class FacadeTest extends BridgeTestCase
{
    public function testNumbersMayBeStrings(): void
    {
        $this->assertSameAnswers(fn (LaravelRateLimiter $limiter) => [
            $limiter->attempt('k', '5', fn () => 'called'),
            $limiter->hit('k'),
            ...(method_exists($limiter, 'increment') ? [$limiter->increment('k', 60, '2'), $limiter->increment('k', 60, '-1')] : [4, 3]),
            method_exists($limiter, 'decrement') ? $limiter->decrement('k', 60, '1') : 2,
            $limiter->retriesLeft('k', '5') <=> 0,
            $limiter->tooManyAttempts('k', '1'),
        ]);
    }

    public function testClearInsideTheCallbackForgetsEarlierAttemptsOnly(): void
    {
        $throws = function (callable $call): string {
            try {
                return $call();
            } catch (RuntimeException $e) {
                return $e->getMessage();
            }
        };
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter) use ($throws): array {
            $limiter->attempt('a', 3, fn () => true);
            $answers = [$limiter->attempt('a', 3, fn () => $limiter->clear('a')), $limiter->attempts('a')];
            // The callback of another call clears the key twice.
            $answers[] = $limiter->attempt('b', 3, fn () => $limiter->attempt('b', 3, function () use ($limiter): void {
                $limiter->clear('b');
                $limiter->resetAttempts('b');
            }));
            $answers[] = $limiter->attempts('b');
            $limiter->attempt('c', 3, fn () => true);
            $answers[] = $throws(fn () => $limiter->attempt('c', 3, function () use ($limiter): void {
                $limiter->clear('ç');
                throw new RuntimeException('x');
            }));
            $answers[] = $limiter->attempts('c');
            // Another key, and a call after these.
            $answers[] = $limiter->attempt('d', 3, fn () => $limiter->clear('a'));
            $answers[] = $limiter->attempt('d', 3, fn () => true);
            return [...$answers, $limiter->attempts('a'), $limiter->attempts('d')];
        });
    }

    public function testAnotherRequestKnowsTheBucketOfAnAttempt(): void
    {
        $cache = $this->app->make('cache')->driver();
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter) use ($cache): array {
            $request = fn (): LaravelRateLimiter => $limiter instanceof RateLimiter ? $this->another($cache) : new LaravelRateLimiter($cache);
            $answers = array_map(fn () => $request()->attempt('josé', 2, fn () => true, 60), range(1, 3));
            $answers[] = $request()->tooManyAttempts('jose', 2);
            $answers[] = $request()->attempts('josé');
            $answers[] = $request()->retriesLeft('josé', 3);
            $answers[] = $request()->availableIn('josé') > 0;
            $request()->clear('josé');
            $answers[] = $request()->tooManyAttempts('josé', 2);
            $answers[] = $request()->attempt('josé', 2, fn () => true);
            $answers[] = $request()->hit('josé');
            $answers[] = $request()->attempt('josé', 2, fn () => true);
            return $answers;
        });
    }

    public function testAttemptDoesNotNeedTheCache(): void
    {
        $cache = $this->createStub(Repository::class);
        $cache->method('put')->willThrowException(new RuntimeException('down'));
        $limiter = $this->another($cache);
        $this->assertSame(['called', false], [$limiter->attempt('k', 1, fn () => 'called'), $limiter->attempt('k', 1, fn () => 'called')]);
    }

    /** Returns the bridge's limiter of another request or process. */
    private function another(Repository $cache): RateLimiter
    {
        return new RateLimiter(fn () => $cache, new Buckets(fn () => $this->app->make(TokenBucketStorage::class), fn () => []));
    }

    /** Calls a function with Laravel's limiter and with the bridge's, and compares the results. */
    private function assertSameAnswers(callable $answers): void
    {
        $cache = $this->app->make('cache')->driver();
        $ofLaravel = $answers(new LaravelRateLimiter($cache));
        $cache->flush();
        $this->assertSame($ofLaravel, $answers($this->another($cache)));
    }
}

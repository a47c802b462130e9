<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Support\Carbon;
use Illuminate\Support\Str;
use RuntimeException;
use TokenBucket\Bridge\Laravel\RateLimiter;

/** Compares the methods of the facade RateLimiter with those of Laravel's limiter. */
final class FacadeTest extends BridgeTestCase
{
    public function testNumbersMayBeStrings(): void
    {
        $this->assertSameAnswers(fn (LaravelRateLimiter $limiter) => [
            $limiter->attempt('k', '5', fn () => 'called'),
            $limiter->hit('k'),
            ...(method_exists($limiter, 'increment') ? [$limiter->increment('k', 60, '2'), $limiter->increment('k', 60, '-1')] : [4, 3]),
            method_exists($limiter, 'decrement') ? $limiter->decrement('k', 60, '2') : 1,
            $limiter->retriesLeft('k', '5') <=> 0,
            $limiter->tooManyAttempts('k', '1'),
        ]);
    }

    public function testAttemptsMayBeFractionsOrMeanUnlimited(): void
    {
        foreach ([2.5, '2.5', '1e2', INF, 1e19, PHP_INT_MAX, '9999999999999999999999', 0.5] as $i => $attempts) {
            $this->assertSameAnswers(fn (LaravelRateLimiter $limiter) => array_map(fn () => $limiter->attempt("k$i", $attempts, fn () => 'called'), range(1, 4)));
        }
    }

    public function testADecayTimeOfZeroAllowsEverythingAndNullNeverEnds(): void
    {
        foreach ([0, -5, 0.5, Carbon::now(), Carbon::now()->subDay(), null] as $i => $decay) {
            $this->assertSameAnswers(function (LaravelRateLimiter $limiter) use ($i, $decay): array {
                $answers = array_map(fn () => $limiter->attempt("k$i", 2, fn () => 'called', $decay), range(1, 4));
                $answers[] = $limiter->attempt("c$i", 1, fn () => $limiter->clear("c$i"), $decay);
                return [...$answers, $limiter->attempt("c$i", 1, fn () => 'called', $decay)];
            });
        }
    }

    public function testTheNameOfALimiterMayBeAnIntegerOrAnObject(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $limiter->for('7', fn () => 'seven');
            $limiter->for('name', fn () => 'found');
            // array_map() passes arguments as a file without strict_types does.
            return array_map(fn ($found) => $found ? $found(new \stdClass()) : null, array_map([$limiter, 'limiter'], [7, Str::of('name'), 8]));
        });
    }

    public function testResetAttemptsReportsWhetherThereWereAttemptsAndKeepsTheWindow(): void
    {
        foreach ([60, Carbon::now()->addMinute()] as $i => $decay) {
            $this->assertSameAnswers(fn (LaravelRateLimiter $limiter) => [
                $limiter->resetAttempts("k$i"),
                $limiter->attempt("k$i", 2, fn () => true, $decay),
                $limiter->resetAttempts("k$i"),
                $limiter->resetAttempts("k$i"),
                ...array_map(fn () => $limiter->attempt("k$i", 2, fn () => true, 3600), range(1, 3)),
                $limiter->availableIn("k$i") <= 60,
            ]);
        }
    }

    public function testOtherRequestsKnowTheBucketUntilItIsFull(): void
    {
        Carbon::setTestNow(Carbon::create(2027));
        $this->another()->attempt('k', 5, fn () => true, 300);
        $this->pass(1);
        // Two windows of debt.
        for ($i = 0; $i < 14; $i++) {
            $this->another()->hit('k', 300);
        }
        foreach ([58, 300, 300] as $seconds) {
            $this->pass($seconds);
            $this->assertTrue($this->another()->tooManyAttempts('k', 5));
        }
        $this->pass(2);
        $this->assertFalse($this->another()->tooManyAttempts('k', 5));
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
            // A callback that clears another key, and then a plain call.
            $answers[] = $limiter->attempt('d', 3, fn () => $limiter->clear('a'));
            $answers[] = $limiter->attempt('d', 3, fn () => true);
            return [...$answers, $limiter->attempts('a'), $limiter->attempts('d')];
        });
    }

    public function testAnotherRequestKnowsTheBucketOfAnAttempt(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $request = fn (): LaravelRateLimiter => $limiter instanceof RateLimiter ? $this->another() : new LaravelRateLimiter($this->cache());
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

    public function testTheNumbersOfAKeyAreNotTheCounterOfAnother(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $request = fn (): LaravelRateLimiter => $limiter instanceof RateLimiter ? $this->another() : new LaravelRateLimiter($this->cache());
            $request()->attempt('a', 2, fn () => true);
            $answers = [];
            foreach (['a:bucket', 'a<bucket>', 'a&lt;bucket&gt;'] as $key) {
                $answers[] = [$request()->attempts($key), $request()->hit($key), $request()->hit($key), $request()->tooManyAttempts($key, 2)];
            }
            return [...$answers, $request()->attempts('a'), $request()->tooManyAttempts('a', 2)];
        });
    }

    public function testTheRemainingAttemptsAreNeverNegative(): void
    {
        $limiter = $this->another();
        $limiter->attempt('k', 2, fn () => true);
        $this->assertSame(4, $limiter->increment('k', 60, 3));
        $this->assertSame([0, 0, 1], [$limiter->remaining('k', 2), $limiter->retriesLeft('k', 3), $limiter->remaining('k', 5)]);
        $this->assertSame(2, $limiter->increment('k', 60, -2));
    }

    public function testAttemptDoesNotNeedTheCache(): void
    {
        $cache = $this->createStub(Repository::class);
        foreach (['get', 'add', 'put'] as $method) {
            $cache->method($method)->willThrowException(new RuntimeException('down'));
        }
        $limiter = $this->another(cache: $cache);
        $this->assertSame(['called', false], [$limiter->attempt('k', 1, fn () => 'called'), $limiter->attempt('k', 1, fn () => 'called')]);
    }
}

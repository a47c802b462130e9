<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Cache\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Support\Carbon;
use RuntimeException;
use TokenBucket\Bridge\Laravel\RateLimiter;
use TokenBucket\Bridge\Laravel\Windows;

/** Compares the setting "windows" with Laravel's windows, on a clock that both follow. */
final class WindowsTest extends BridgeTestCase
{
    private const SECONDS = [60, 3600, 86400, 604800];

    public function createApplication(): Application
    {
        putenv('TOKENBUCKET_WINDOWS=minute,hour,day,week');
        try {
            return parent::createApplication();
        } finally {
            putenv('TOKENBUCKET_WINDOWS');
        }
    }

    protected function setUp(): void
    {
        parent::setUp();
        // A Monday, at which the clock of the buckets begins.
        Carbon::setTestNow(Carbon::create(2024, 1, 1, 0, 0, 0, 'UTC'));
    }

    public function testAWindowThatBeginsWithItsFirstCallHasLaravelsAnswers(): void
    {
        foreach (self::SECONDS as $seconds) {
            $this->beginWeek();
            $limiters = $this->limiters("k$seconds", 3, $seconds);
            $calls = [
                fn ($limiter) => null,
                fn ($limiter) => $limiter->hit("k$seconds", $seconds),
                fn ($limiter) => $limiter->attempt("k$seconds", 3, fn () => 'called', $seconds),
                fn ($limiter) => $limiter->attempt("k$seconds", 3, fn () => null, $seconds),
                fn ($limiter) => $limiter->attempt("k$seconds", 3, fn () => 'called', $seconds),
                fn ($limiter) => $limiter->hit("k$seconds", $seconds),
                fn ($limiter) => $limiter->clear("k$seconds"),
                fn ($limiter) => $limiter->hit("k$seconds", $seconds),
                fn ($limiter) => method_exists(LaravelRateLimiter::class, 'increment') ? $limiter->increment("k$seconds", $seconds, 4) : null,
                fn ($limiter) => method_exists(LaravelRateLimiter::class, 'decrement') ? $limiter->decrement("k$seconds", $seconds, 3) : null,
                fn ($limiter) => $limiter->hit("k$seconds", $seconds),
            ];
            foreach ([0, $seconds / 2, $seconds / 2 - 1] as $pass) {
                $this->pass($pass);
                foreach ($calls as $i => $call) {
                    // In the middle of a window, skips clear(), after which Laravel would begin a
                    // new window.
                    if ($pass === 0 || $i !== 6) {
                        [$laravels, $ours] = array_map(fn ($limiter) => [$call($limiter), ...$this->state($limiter, "k$seconds", 3)], $limiters);
                        $this->assertSame($laravels, $ours, "$seconds s, after $pass, call $i");
                    }
                }
            }
            $this->assertSame(1, $limiters[1]->availableIn("k$seconds"));
            $this->pass(2);
            [$laravels, $ours] = array_map(fn ($limiter) => [...$this->state($limiter, "k$seconds", 3), $limiter->hit("k$seconds", $seconds)], $limiters);
            $this->assertSame($laravels, $ours, "$seconds s, in the next window");
        }
    }

    public function testAnotherNumberOfAttemptsCountsTheOldOnesAsInLaravel(): void
    {
        [$laravels, $ours] = array_map(fn ($limiter) => array_map(
            fn (int $attempts) => [$limiter->attempt('k', $attempts, fn () => 'called', 3600), $limiter->attempts('k')],
            [2, 2, 2, 4, 3, 4, 4, 2],
        ), $this->limiters('other', 1, 60));
        $this->assertSame($laravels, $ours);
    }

    public function testRoutesSendLaravelsHeaders(): void
    {
        $this->route(UnchangedThrottleRequests::class . ':3,60', '/laravel');
        $this->route('throttle:3,60', '/bridge');
        foreach ([0, 0, 0, 0, 1800, 1799, 2] as $pass) {
            Carbon::setTestNow(Carbon::now()->addSeconds($pass));
            $answers = array_map(function (string $path): array {
                $response = $this->get($path);
                return [$response->getStatusCode(), ...array_map($response->headers->get(...), ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'])];
            }, ['/laravel', '/bridge']);
            $this->assertSame($answers[0], $answers[1], "after $pass");
        }
        $this->assertSame([200, '3', '2', null, null], $answers[1]);
    }

    public function testAJobIsReleasedUntilItsWindowEnds(): void
    {
        $this->limiter()->for('jobs', fn () => Limit::perHour(2)->by('a'));
        $this->pass(600);
        $run = fn (int $jobs) => array_map(fn () => $this->runJob(), range(1, $jobs));
        $this->assertSame(['ran', 'ran', 3003, 3003], $run(4));
        $this->pass(3000);
        $this->assertSame(['ran', 'ran', 3603], $run(3));
    }

    public function testAWindowBeginsOnTheCalendarAndNotWithItsFirstCall(): void
    {
        $this->pass(59);
        $limiters = $this->limiters('k', 1, 60);
        $attempt = fn () => array_map(fn ($limiter) => $limiter->attempt('k', 1, fn () => true, 60), $limiters);
        $this->assertSame([true, true], $attempt());
        $this->assertSame([60, 1], array_map(fn ($limiter) => $limiter->availableIn('k'), $limiters));
        $this->pass(1);
        $this->assertSame([false, true], $attempt());
    }

    public function testClearAndResetAttemptsLeaveTheEndOfTheWindow(): void
    {
        $limiters = $this->limiters('k', 1, 60);
        foreach (['resetAttempts' => [[50, 0], [50, 50]], 'clear' => [[0, 0], [60, 50]]] as $method => $expected) {
            $this->beginWeek();
            $ends = [];
            foreach ($limiters as $limiter) {
                $limiter->clear('k');
                $limiter->hit('k', 60);
            }
            $this->pass(10);
            foreach ($limiters as $limiter) {
                $limiter->$method('k');
                $ends[0][] = $limiter->availableIn('k');
                $limiter->hit('k', 60);
                $ends[1][] = $limiter->availableIn('k');
            }
            $this->assertSame($expected, $ends, $method);
        }
    }

    public function testDaysBeginInTheTimeZone(): void
    {
        // 09:00 in Tokyo.
        $limiter = $this->another(windows: new Windows('day', 'Asia/Tokyo'), cache: new Repository(new ArrayStore()));
        $attempt = fn (int $seconds) => $limiter->attempt("k$seconds", 1, fn () => true, $seconds);
        $this->assertSame([true, false, true, false], [$attempt(86400), $attempt(86400), $attempt(3600), $attempt(3600)]);
        $this->pass(15 * 3600 - 1);
        $this->assertFalse($attempt(86400));
        $this->pass(1);
        $this->assertTrue($attempt(86400));
        // The setting does not name hours, so limits of an hour refill continuously.
        $limiter->attempt('hour', 2, fn () => true, 3600);
        $limiter->attempt('hour', 2, fn () => true, 3600);
        $this->pass(1800);
        $this->assertTrue($limiter->attempt('hour', 2, fn () => true, 3600));
    }

    public function testATimeZoneThatPhpDoesNotKnowIsPhpsDefaultZone(): void
    {
        $default = date_default_timezone_get();
        date_default_timezone_set('Asia/Tokyo');
        try {
            foreach (['', 'Mars/Base'] as $zone) {
                $limiter = $this->another(windows: new Windows('day', $zone), cache: new Repository(new ArrayStore()));
                $limiter->attempt("day$zone", 1, fn () => true, 86400);
                $this->assertSame(15 * 3600, $limiter->availableIn("day$zone"));
            }
        } finally {
            date_default_timezone_set($default);
        }
    }

    public function testADateIsNoWindow(): void
    {
        $this->pass(18 * 3600);
        $attempt = fn () => [
            $this->limiter()->attempt('date', 1, fn () => true, Carbon::now()->addDay()),
            $this->limiter()->attempt('seconds', 1, fn () => true, 86400),
        ];
        $this->assertSame([true, true], $attempt());
        $this->pass(6 * 3600);
        $this->assertSame([false, true], $attempt());
        $this->pass(12 * 3600);
        $this->assertSame([false, false], $attempt());
        $this->pass(6 * 3600);
        $this->assertSame([true, false], $attempt());
    }

    public function testLimitsThatMeanUnlimitedStayBuckets(): void
    {
        foreach (self::SECONDS as $seconds) {
            // Doubles describe a bucket of this size roughly.
            $this->assertGreaterThan(10 ** 14, $this->called("many$seconds", 10 ** 15, $seconds));
        }
        $this->assertSame(60_000_000 - 1, $this->called('most', 60_000_000, 60));
        $this->route('throttle:1000000000,1');
        $this->assertAnswer(200, 10 ** 9, 10 ** 9 - 1);
    }

    public function testAnotherProcessClearsTheWindow(): void
    {
        foreach (self::SECONDS as $seconds) {
            $this->assertSame(0, $this->called("k$seconds", 1, $seconds));
            $this->another(windows: new Windows('minute,hour,day,week'), cache: new Repository(new ArrayStore()))->clear("k$seconds");
            $this->assertSame(0, $this->called("k$seconds", 1, $seconds));
        }
    }

    public function testAFailedCallbackGivesNothingBackToALaterWindow(): void
    {
        $fail = function (int $pass): void {
            try {
                $this->limiter()->attempt('k', 2, function () use ($pass): void {
                    $this->pass($pass);
                    $this->limiter()->hit('k', 60);
                    throw new RuntimeException('x');
                }, 60);
                $this->fail('no exception');
            } catch (RuntimeException) {
            }
        };
        $fail(59);
        $this->assertSame(1, $this->limiter()->attempts('k'));
        $fail(1);
        $this->assertSame(1, $this->limiter()->attempts('k'));
    }

    /** @return array{LaravelRateLimiter, RateLimiter} Laravel's limiter, and the bridge's with the numbers of a key */
    private function limiters(string $key, int $attempts, int $seconds): array
    {
        return [
            new LaravelRateLimiter(new Repository(new ArrayStore())),
            $this->another([$key => [$attempts, $seconds]], new Windows('minute,hour,day,week'), new Repository(new ArrayStore())),
        ];
    }

    /** Returns the answers of the methods that change nothing. */
    private function state(LaravelRateLimiter $limiter, string $key, int $attempts): array
    {
        // In Laravel 8 and 10, remaining() may be negative.
        return [(int) $limiter->attempts($key), max(0, $limiter->remaining($key, $attempts)), max(0, $limiter->retriesLeft($key, $attempts)), $limiter->tooManyAttempts($key, $attempts), $limiter->availableIn($key)];
    }

    /** Calls attempt(), which must pass, and returns the attempts that remain. */
    private function called(string $key, int $attempts, int $seconds): int
    {
        $this->assertTrue($this->limiter()->attempt($key, $attempts, fn () => true, $seconds));
        return $this->limiter()->remaining($key, $attempts);
    }

    /** Advances the clock to the next Monday, unless it is Monday. */
    private function beginWeek(): void
    {
        $this->pass((604800 - (Carbon::now()->getTimestamp() - 1704067200) % 604800) % 604800);
    }
}

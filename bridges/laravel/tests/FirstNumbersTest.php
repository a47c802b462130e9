<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Support\Carbon;

/** Compares limits whose numbers are computed for each request with Laravel's. */
final class FirstNumbersTest extends BridgeTestCase
{
    private Carbon $start;

    protected function setUp(): void
    {
        parent::setUp();
        Carbon::setTestNow($this->start = Carbon::create(2026, 11, 23, 12));
    }

    public function testADeadlineIsADeadlineInEachFormAndAtEachPace(): void
    {
        $forms = [
            'date' => fn () => Carbon::now()->endOfDay(),
            'seconds' => fn () => (int) Carbon::now()->diffInSeconds(Carbon::now()->endOfDay(), true),
            'minutes' => fn () => 60 * (int) ceil(Carbon::now()->diffInMinutes(Carbon::now()->endOfDay(), true)),
        ];
        foreach ($forms as $form => $decay) {
            foreach ([60, 600, 3600, 7200] as $pause) {
                [$laravels, $ours] = $this->attempts(fn (LaravelRateLimiter $limiter) => $limiter->attempt('code', 3, fn () => true, $decay()), $pause, 86400);
                $this->assertSame($laravels, $ours, "$form every $pause s");
            }
        }
    }

    public function testAWindowThatBeginsAnewWithEachHitEndsWhereTheFirstOneEnded(): void
    {
        foreach ([fn () => Carbon::now()->addMinutes(5), fn () => Carbon::now()->addMinutes(5)->startOfMinute()] as $decay) {
            [$laravels, $ours] = $this->attempts(fn (LaravelRateLimiter $limiter) => $limiter->attempt('code', 3, fn () => true, $decay()), 20, 1800);
            $this->assertSame($laravels, $ours);
        }
    }

    public function testAGrowingDelayWaitsForItsOwnTime(): void
    {
        $level = [];
        [$laravels, $ours] = $this->attempts(function (LaravelRateLimiter $limiter) use (&$level): bool {
            $id = spl_object_id($limiter);
            $level[$id] ??= 0;
            $isAllowed = $limiter->attempt('login', 1, fn () => true, 2 ** $level[$id]);
            $level[$id] += (int) $isAllowed;
            return $isAllowed;
        }, 1, 64);
        $this->assertSame($laravels, $ours);
        $this->assertSame([0, 1, 3, 7, 15, 31, 63], $ours);
    }

    public function testComputedAttemptsMakeNoNewBucket(): void
    {
        foreach ([fn (int $i) => 20 + $i, fn (int $i) => 20 + $i % 8, fn (int $i) => 20 + $i / 10] as $attempts) {
            $i = 0;
            [, $ours] = $this->attempts(function (LaravelRateLimiter $limiter) use (&$i, $attempts): bool {
                return (bool) $limiter->attempt('k', $attempts($i++ % 60), fn () => true, 36000);
            }, 1, 59);
            $this->assertCount(20, $ours);
        }
    }

    public function testRoutesWithComputedNumbersGrantWhatTheFirstNumbersGrant(): void
    {
        $limits = [
            fn () => Limit::perMinutes((int) ceil(Carbon::now()->diffInMinutes(Carbon::now()->endOfDay(), true)), 3),
            fn () => Limit::perDay(3 + Carbon::now()->minute % 7),
            fn () => [Limit::perMinutes(600 + Carbon::now()->minute, 3), Limit::perDay(100)->by('all')],
        ];
        foreach ($limits as $i => $limit) {
            $this->limiter()->for("codes$i", $limit);
            $this->route("throttle:codes$i", "/codes$i");
            $passed = 0;
            for ($minute = 0; $minute < 120; $minute++) {
                $passed += (int) ($this->get("/codes$i")->getStatusCode() === 200);
                // The clock of the buckets follows Carbon's clock when a route is requested.
                Carbon::setTestNow(Carbon::now()->addMinute());
            }
            $this->assertSame(3, $passed, "limit $i");
            Carbon::setTestNow($this->start);
        }
    }

    public function testClearBeginsAWindowWithNewNumbers(): void
    {
        $limiter = $this->limiter();
        foreach ([Carbon::now()->addHour(), 3600] as $decay) {
            $this->assertTrue($limiter->attempt('k', 1, fn () => true, $decay));
            $this->assertFalse($limiter->attempt('k', 5, fn () => true, $decay));
            $limiter->clear('k');
            $granted = array_map(fn () => $limiter->attempt('k', 2, fn () => true, 60), range(1, 3));
            $this->assertSame([true, true, false], $granted);
            $limiter->clear('k');
        }
    }

    /**
     * Calls a function with Laravel's limiter and with the bridge's.
     *
     * @param Closure(LaravelRateLimiter): bool $call
     * @return array{list<int>, list<int>} the seconds of the calls that were allowed
     */
    private function attempts(Closure $call, int $pause, int $seconds): array
    {
        if (version_compare($this->app->version(), '9') < 0) {
            $this->markTestSkipped('In its last second, a window of Laravel 8 still denies.');
        }
        $answers = $this->answers(function (LaravelRateLimiter $limiter) use ($call, $pause, $seconds): array {
            Carbon::setTestNow($this->start);
            $allowed = [];
            for ($time = 0; $time <= $seconds; $time += $pause, $this->pass($pause)) {
                if ($call($limiter)) {
                    $allowed[] = $time;
                }
            }
            return $allowed;
        });
        // Fills the buckets.
        $this->advance(10 * 86400);
        return $answers;
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Queue\Middleware\RateLimited;
use Illuminate\Support\Carbon;

/** Tests jobs that wait for a limit while new jobs arrive as fast as the limit allows. */
final class BacklogTest extends BridgeTestCase
{
    public function testABacklogRunsInOrderWhileNewJobsArrive(): void
    {
        foreach ([30, 130] as $backlog) {
            foreach ([true, false] as $statesAttempts) {
                foreach ([fn () => 6, fn () => mt_rand(1, 11)] as $interval) {
                    mt_srand(47);
                    [$ran, $attempts] = $this->jobs($backlog, $interval, $statesAttempts);
                    // The tokens of an hour, none of which is wasted.
                    $this->assertGreaterThanOrEqual(609, count($ran));
                    // Others sometimes take the token of a job that cannot state its attempts.
                    $this->assertLessThanOrEqual($statesAttempts ? 2 : 5, max($attempts));
                    if ($statesAttempts) {
                        $this->assertSame(range(0, count($ran) - 1), $ran);
                    }
                    // Fills the bucket.
                    $this->advance(100_000);
                }
            }
        }
    }

    public function testABacklogOfALimitOfOneJobIsNotOvertaken(): void
    {
        [$ran, $attempts] = $this->jobs(5, fn () => 60, true, 1);
        $this->assertSame([range(0, count($ran) - 1), 2], [$ran, max($attempts)]);
        $this->assertGreaterThanOrEqual(59, count($ran));
    }

    /** Jobs arrive at random, and are tried for two minutes, as with retryUntil(). */
    public function testAsManyJobsOfALimitOfOneJobRunAsWithLaravel(): void
    {
        foreach ([1, 2, 5, 10, 60] as $seconds) {
            foreach ([0.25, 0.5, 0.75, 0.95] as $load) {
                mt_srand(39);
                $arrivals = [];
                for ($at = 0.0; count($arrivals) < 200; $at -= $seconds / $load * log(1 - mt_rand() / (mt_getrandmax() + 1))) {
                    $arrivals[] = $at;
                }
                [$laravels, $ours] = $this->answers(fn (LaravelRateLimiter $limiter): array => $this->runs($limiter, $seconds, $arrivals));
                $this->assertGreaterThanOrEqual(count($laravels), count($ours), "1 in $seconds s, load $load");
                foreach (array_slice($ours, 1) as $i => $at) {
                    $this->assertGreaterThan($seconds - 1e-6, $at - $ours[$i]);
                }
            }
        }
    }

    /**
     * @param list<float> $arrivals
     * @return list<float> the instants at which jobs ran
     */
    private function runs(LaravelRateLimiter $limiter, int $seconds, array $arrivals): array
    {
        $limiter->for('mails', function () use ($seconds): Limit {
            $limit = Limit::perMinute(1);
            property_exists($limit, 'decaySeconds') ? $limit->decaySeconds = $seconds : $limit->decayMinutes = $seconds / 60;
            return $limit;
        });
        $ran = [];
        $this->work($arrivals, function (int $id, float $at, int $attempt) use (&$ran, $arrivals, $seconds): ?int {
            $job = function () use (&$ran, $at): void {
                $ran[] = $at;
            };
            return $at > $arrivals[$id] + max(120, 30 * $seconds) ? null : $this->runJob($job, new RateLimited('mails'), $attempt);
        });
        // Fills the bucket.
        $this->advance(100_000);
        return $ran;
    }

    /** Laravel fails a job that comes back after the time of its retryUntil(). */
    public function testAJobTakesNoPlaceAtWhichItWillHaveFailed(): void
    {
        $this->limiter()->for('mails', fn () => Limit::perMinute(1));
        $job = fn (int $patience): object => new class($patience) {
            public readonly object $job;

            public function __construct(int $patience)
            {
                $this->job = new class(Carbon::now()->getTimestamp() + $patience) {
                    public function __construct(private readonly int $until)
                    {
                    }

                    public function retryUntil(): int
                    {
                        return $this->until;
                    }
                };
            }

            public function attempts(): int
            {
                return 1;
            }

            public function release(int $seconds): int
            {
                return $seconds;
            }
        };
        $delay = fn (int $patience): ?int => (new RateLimited('mails'))->handle($job($patience), fn () => null);
        $this->assertNull($delay(3600));
        $this->assertSame(63, $delay(3600), 'the first place');
        $this->assertSame([63, 63, 63], array_map($delay, [90, 90, 90]), 'none is behind it in time');
        $this->assertSame(123, $delay(3600), 'the second place');
    }

    public function testJobsDoNotQueueBehindAQueueThatWasCleared(): void
    {
        foreach ([10, 1] as $tokens) {
            $this->limiter()->for('mails', fn () => Limit::perMinute($tokens));
            $delays = fn (int $jobs) => array_map(fn () => $this->runJob(fn () => null, new RateLimited('mails'), 1), range(1, $jobs));
            $before = $delays(20 * $tokens);
            $this->assertGreaterThan(1100, end($before));
            $this->advance(200);
            $after = $delays(2 * $tokens);
            $this->assertSame([$tokens, null], [count(array_keys($after, null, true)), $after[0]]);
            $this->assertLessThanOrEqual(63, end($after));
            $this->advance(10_000);
        }
    }

    /**
     * Runs jobs for an hour with so many tokens a minute.
     *
     * @param callable(): int $interval returns the seconds between two new jobs
     * @return array{list<int>, array<int, int>} the jobs that ran, in order, and their attempts
     */
    private function jobs(int $backlog, callable $interval, bool $statesAttempts, int $tokens = 10): array
    {
        $this->limiter()->for('mails', fn () => Limit::perMinute($tokens));
        $arrivals = array_fill(0, $backlog, 0);
        while (end($arrivals) <= 3600) {
            $arrivals[] = end($arrivals) + $interval();
        }
        $ran = [];
        $attempts = $this->work($arrivals, function (int $id, float $at, int $attempt) use (&$ran, $statesAttempts): ?int {
            $job = function () use (&$ran, $id): void {
                $ran[] = $id;
            };
            return $this->runJob($job, new RateLimited('mails'), $statesAttempts ? $attempt : null);
        }, 3600);
        return [$ran, $attempts];
    }
}

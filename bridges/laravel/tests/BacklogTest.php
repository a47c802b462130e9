<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Queue\Middleware\RateLimited;

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
        $this->assertGreaterThanOrEqual(56, count($ran));
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
        $attempts = $this->work($arrivals, function (int $id, int $at, int $attempt) use (&$ran, $statesAttempts): ?int {
            $job = function () use (&$ran, $id): void {
                $ran[] = $id;
            };
            return $this->runJob($job, new RateLimited('mails'), $statesAttempts ? $attempt : null);
        }, 3600);
        return [$ran, $attempts];
    }
}

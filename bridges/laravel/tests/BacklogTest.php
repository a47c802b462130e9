<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Queue\Middleware\RateLimited;
use SplPriorityQueue;

/** Tests jobs that wait for a limit while new jobs arrive as fast as the limit allows. */
final class BacklogTest extends BridgeTestCase
{
    public function testABacklogRunsInOrderWhileNewJobsArrive(): void
    {
        foreach ([30, 130] as $backlog) {
            foreach ([true, false] as $statesAttempts) {
                foreach ([fn () => 6.0, fn () => mt_rand(1, 11)] as $interval) {
                    mt_srand(47);
                    [$ran, $attempts] = $this->work($backlog, $interval, $statesAttempts);
                    // The tokens of an hour, none of which is wasted.
                    $this->assertGreaterThanOrEqual(609, count($ran));
                    // Others sometimes take the token of a job that cannot state its attempts.
                    $this->assertLessThanOrEqual($statesAttempts ? 2 : 5, max($attempts));
                    if ($statesAttempts) {
                        $this->assertSame(range(0, count($ran) - 1), array_keys($ran));
                    }
                    // Fills the bucket.
                    $this->advance(100_000);
                }
            }
        }
    }

    public function testABacklogOfALimitOfOneJobIsNotOvertaken(): void
    {
        [$ran, $attempts] = $this->work(5, fn () => 60.0, true, 1);
        $this->assertSame([range(0, count($ran) - 1), 2], [array_keys($ran), max($attempts)]);
        $this->assertGreaterThanOrEqual(56, count($ran));
    }

    public function testJobsDoNotQueueBehindAQueueThatWasCleared(): void
    {
        foreach ([10, 1] as $tokens) {
            $this->limiter()->for('mails', fn () => Limit::perMinute($tokens));
            $delays = fn (int $jobs) => array_map(function () {
                (new RateLimited('mails'))->handle($job = $this->job(1), fn () => null);
                return $job->delay;
            }, range(1, $jobs));
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
     * Works for an hour on jobs with so many tokens a minute.
     *
     * @return array{array<int, float>, array<int, int>} when jobs ran, in order, and their attempts
     */
    private function work(int $backlog, callable $interval, bool $statesAttempts, int $tokens = 10): array
    {
        $this->limiter()->for('mails', fn () => Limit::perMinute($tokens));
        $queue = new SplPriorityQueue();
        $ran = $attempts = [];
        for ($id = $time = $order = 0, $at = 0.0; $at <= 3600; $id++) {
            $at += $id < $backlog ? 0 : $interval();
            $queue->insert([$id, $at], [-$at, -$order++]);
        }
        while ([$id, $at] = $queue->extract()) {
            if ($at > 3600) {
                return [$ran, $attempts];
            }
            $this->advance($at - $time);
            $time = $at;
            $attempts[$id] = ($attempts[$id] ?? 0) + 1;
            $job = $statesAttempts ? $this->job($attempts[$id]) : $this->jobWithoutAttempts();
            (new RateLimited('mails'))->handle($job, function () use (&$ran, $id, $at) {
                $ran[$id] = $at;
            });
            if ($job->delay !== null) {
                $queue->insert([$id, $at + $job->delay], [-$at - $job->delay, -$order++]);
            }
        }
    }

    private function job(int $attempts): object
    {
        return new class ($attempts) {
            public ?int $delay = null;

            public function __construct(private readonly int $attempts)
            {
            }

            public function attempts(): int
            {
                return $this->attempts;
            }

            public function release(int $delay): void
            {
                $this->delay = $delay;
            }
        };
    }

    private function jobWithoutAttempts(): object
    {
        return new class () {
            public ?int $delay = null;

            public function release(int $delay): void
            {
                $this->delay = $delay;
            }
        };
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Bridge\PhpUnit\ClockMock;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageMemory;

/**
 * Compares quotas with Symfony's fixed windows, on a clock that both follow.
 *
 * The clock needs symfonys_tests.php instead of bootstrap.php.
 */
#[Group('clock')]
final class QuotaTest extends TestCase
{
    /** Monday, 2024-01-01 00:00 UTC, at which the clock of the memory begins. */
    private const START = 1_704_067_200;
    private const SECONDS = ['1 minute' => 60, '1 hour' => 3600, '1 day' => 86400, '1 week' => 604800, '1 month' => 31 * 86400, '1 year' => 366 * 86400];
    /** Fractions of the window that pass before each call, and the tokens. Null resets. */
    private const CALLS = [
        [0, 0], [0, 1], [0, 2], [0, 0], [0, 3], [0, 2], [0, 0], [0, 1], [0, 6], [0, -1], [0, 0], [0, 2], [0, 1], [0, 1],
        [0, null], [0, 0], [0, 5], [0, 1], [0.5, 1], [0, 5], [0, -2], [0, 3], [0, 1], [0, 1], [0.25, 0], [0, 1],
    ];

    private TokenBucketStorageMemory $memory;
    private InMemoryStorage $storage;

    protected function setUp(): void
    {
        if (!class_exists(ClockMock::class)) {
            self::markTestSkipped('The clock needs symfonys_tests.php');
        }
        $this->memory = new TokenBucketStorageMemory();
        $this->storage = new InMemoryStorage();
        ClockMock::withClockMock(self::START);
    }

    public function testAWindowThatBeginsWithItsFirstCallHasSymfonysResults(): void
    {
        foreach (self::SECONDS as $interval => $seconds) {
            $this->setUp();
            $limiters = $this->limiters($interval);
            foreach (self::CALLS as $i => [$pass, $tokens]) {
                $this->advance($pass * $seconds);
                [$symfonys, $quotas] = array_map(fn (LimiterInterface $limiter) => self::answer($limiter, $tokens), $limiters);
                self::assertSame($symfonys, $quotas, "$interval, call $i");
            }
            $this->advance(0.25 * $seconds - 1);
            self::assertSame([false, false], $this->accepted($limiters), $interval);
            // At the end itself, Symfony's window may still deny.
            $this->advance(2);
            self::assertSame(self::answer($limiters[0], 3), self::answer($limiters[1], 3), $interval);
        }
    }

    public function testANewLimitCountsTheTokensThatWereTakenAsInSymfony(): void
    {
        if (TestKernel::MAJOR_VERSION < 6) {
            self::markTestSkipped('Symfony 5.4 keeps the limit of a window');
        }
        foreach ([[5, 8], [3, 8], [5, 2], [1, 2]] as $i => [$taken, $limit]) {
            foreach ($this->limiters('1 day', id: "changed $i") as $limiter) {
                $limiter->consume($taken);
            }
            $limiters = $this->limiters('1 day', $limit, "changed $i");
            foreach ([0, 1, -9, 0, 2] as $tokens) {
                self::assertSame(self::answer($limiters[0], $tokens), self::answer($limiters[1], $tokens), "$taken taken, then a limit of $limit");
            }
        }
    }

    public function testAWindowBeginsOnTheCalendarAndNotWithItsFirstCall(): void
    {
        [$symfonys, $quota] = $this->limiters('1 minute');
        $this->advance(59);
        self::assertSame([[true, 0], [true, 0]], [array_slice(self::answer($symfonys, 5), 0, 2), array_slice(self::answer($quota, 5), 0, 2)]);
        self::assertSame(self::START + 59 + 60, $symfonys->consume()->getRetryAfter()->getTimestamp());
        self::assertSame(self::START + 60, $quota->consume()->getRetryAfter()->getTimestamp());
        $this->advance(2);
        self::assertSame([false, true], $this->accepted([$symfonys, $quota]));
    }

    public function testAResetLeavesTheEndOfTheWindow(): void
    {
        $limiters = $this->limiters('1 minute');
        $ends = [];
        foreach ($limiters as $limiter) {
            $limiter->consume(5);
        }
        $this->advance(20);
        foreach ($limiters as $limiter) {
            $limiter->reset();
            $limiter->consume(5);
            $ends[] = $limiter->consume()->getRetryAfter()->getTimestamp() - self::START;
        }
        self::assertSame([80, 60], $ends);
    }

    public function testOnlySymfonysWindowIsReserved(): void
    {
        [$symfonys, $quota] = $this->limiters('1 minute');
        $symfonys->reserve(5);
        self::assertSame(60.0, $symfonys->reserve(5)->getTimeToAct() - self::START);
        $this->expectException(ReserveNotSupportedException::class);
        $quota->reserve();
    }

    /** @return array{LimiterInterface, LimiterInterface} Symfony's limiter, and the quota */
    private function limiters(string $interval, int $limit = 5, string $id = 'id'): array
    {
        $config = ['id' => $id, 'policy' => 'fixed_window', 'limit' => $limit, 'interval' => $interval];
        return [
            (new RateLimiterFactory($config, $this->storage))->create('key'),
            (new RateLimiterFactory($config + ['anchor_at' => '2024-01-01'], new BucketStorage($this->memory)))->create('key'),
        ];
    }

    private function advance(float $seconds): void
    {
        ClockMock::sleep($seconds);
        $this->memory->advance($seconds);
    }

    /**
     * @param list<LimiterInterface> $limiters
     * @return list<bool> whether each accepts a call
     */
    private function accepted(array $limiters): array
    {
        return array_map(fn (LimiterInterface $limiter) => $limiter->consume()->isAccepted(), $limiters);
    }

    /** Returns what a call returns or throws, or what a reset leaves. */
    private static function answer(LimiterInterface $limiter, ?int $tokens): array
    {
        if ($tokens === null) {
            $limiter->reset();
            return [];
        }
        try {
            $limit = $limiter->consume($tokens);
        } catch (\InvalidArgumentException $e) {
            return [$e->getMessage()];
        }
        $result = [$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit()];
        // After a call that took the last token, Symfony 5.4 returns the current time.
        return TestKernel::MAJOR_VERSION < 6 && $limit->isAccepted() ? $result : [...$result, $limit->getRetryAfter()->getTimestamp()];
    }
}

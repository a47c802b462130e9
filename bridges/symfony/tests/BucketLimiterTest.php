<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageMemory;

/** Tests the limiters that Symfony's factory creates over a bucket, on a clock of the test. */
final class BucketLimiterTest extends TestCase
{
    private TokenBucketStorageMemory $memory;

    protected function setUp(): void
    {
        $this->memory = new TokenBucketStorageMemory();
    }

    public function testAWindowRefillsItsLimitInAnInterval(): void
    {
        foreach (['fixed_window', 'sliding_window'] as $policy) {
            $limiter = $this->limiter(['id' => $policy, 'policy' => $policy, 'limit' => 6, 'interval' => '1 hour']);
            self::assertSame([true, 0, 6], $this->consumed($limiter, 6));
            $this->memory->advance(599);
            self::assertSame([false, 0, 6], $this->consumed($limiter, 1));
            $this->memory->advance(1);
            self::assertSame([true, 0, 6], $this->consumed($limiter, 1));
        }
    }

    public function testRetryAfterIsRoundedUpToASecondAndNeverTooEarly(): void
    {
        $limiter = $this->bucket('api', 1, '1 minute', 40);
        $before = microtime(true);
        $grant = $limiter->consume();
        $denial = $limiter->consume();
        $after = microtime(true);
        foreach ([$grant, $denial] as $limit) {
            self::assertGreaterThanOrEqual(ceil($before + 1.5), $limit->getRetryAfter()->getTimestamp());
            self::assertLessThanOrEqual(ceil($after + 1.5), $limit->getRetryAfter()->getTimestamp());
        }
        self::assertSame(['"api";q=1;w=2', '"api";r=0;t=2', '2'], array_values($denial->decision->headers('api')));
    }

    public function testEachResultStatesTheTimeUntilItsCallSucceeds(): void
    {
        $limiter = $this->bucket('api', 4, '1 hour', 4);
        // A call for no tokens states the time until the bucket has one.
        foreach ([[1, 0], [0, 0], [3, 900], [0, 900], [1, 900], [3, 2700]] as [$tokens, $seconds]) {
            self::assertRetryAfter($seconds, fn () => $limiter->consume($tokens));
        }
        self::assertRetryAfter(1800, fn () => $limiter->reserve(2)->getRateLimit());
        self::assertRetryAfter(2700, fn () => $limiter->consume(0));
        self::assertSame([true, 0, 4], $this->consumed($limiter, 0));
        self::assertRetryAfter(2700, fn () => (new CompoundLimiter([$limiter]))->consume());
    }

    public function testTheAmountOfARateIsOneByDefault(): void
    {
        $limiter = $this->limiter(['id' => 'api', 'policy' => 'token_bucket', 'limit' => 4, 'rate' => ['interval' => '1 hour']]);
        self::assertRetryAfter(3600, fn () => $limiter->consume(4));
    }

    public function testACompoundDescribesTheDenialOrTheFewestTokens(): void
    {
        $full = $this->bucket('full', 90, '1 hour', 90);
        $few = $this->bucket('few', 2, '1 hour', 2);
        $symfonys = (new RateLimiterFactory(['id' => 'x', 'policy' => 'fixed_window', 'limit' => 4, 'interval' => '1 hour'], new InMemoryStorage()))->create();
        foreach ([[$full, $few, $symfonys], [$symfonys, $few, $full], [$few, $full]] as $limiters) {
            $few->reset();
            $symfonys->reset();
            $compound = new CompoundLimiter($limiters);
            self::assertSame([true, 2, 2], $this->consumed($compound, 0));
            self::assertSame([true, 0, 2], $this->consumed($compound, 2));
            self::assertSame([false, 0, 2], $this->consumed($compound, 1));
            self::assertRetryAfter(1800, fn () => $compound->consume());
            $few->consume(-1);
            self::assertSame([true, 0, 2], $this->consumed($compound, 1));
        }
        $few->reset();
        $symfonys->consume(4);
        self::assertSame([false, 0, 4], $this->consumed(new CompoundLimiter([$full, $few, $symfonys]), 1));
    }

    public function testACallThatNeverSucceedsIsRepeatedInAYear(): void
    {
        self::assertRetryAfter(31_536_000, fn () => $this->bucket('none', 0, '1 hour', 1)->consume());
    }

    public function testARefusedReservationStatesTheWholeWait(): void
    {
        $limiter = $this->bucket('api', 4, '1 hour', 4);
        $limiter->consume(2);
        // As in Symfony, a negative time counts as 0.
        self::assertDelay(0, fn () => $limiter->reserve(1, -1.0));
        self::assertRetryAfter(1800, function () use ($limiter): RateLimit {
            try {
                $limiter->reserve(3, 901.5);
                self::fail('A reservation beyond the maximum time was accepted');
            } catch (MaxWaitDurationExceededException $e) {
                self::assertSame('The rate limiter wait time ("1800" seconds) is longer than the provided maximum time ("901" seconds).', $e->getMessage());
                self::assertSame([false, 1, 4], [$e->getRateLimit()->isAccepted(), $e->getRateLimit()->getRemainingTokens(), $e->getRateLimit()->getLimit()]);
                return $e->getRateLimit();
            }
        });
    }

    public function testWaitsUntilTheCallSucceeds(): void
    {
        $storage = BucketStorage::fromDsn('shared-memory', 'wait' . getmypid());
        $limiter = (new RateLimiterFactory(['id' => 'w', 'policy' => 'fixed_window', 'limit' => 4, 'interval' => '1 second'], $storage))->create();
        $limiter->consume(4);
        $denial = $limiter->consume(2);
        unserialize(serialize($denial))->wait();
        self::assertTrue($limiter->consume(2)->isAccepted());
    }

    public function testReservesFutureTokensInOrder(): void
    {
        $limiter = $this->bucket('api', 10, '1 second', 10);
        foreach ([0, 0, 0.5, 1] as $delay) {
            self::assertDelay($delay, fn () => $limiter->reserve(5));
        }
        $before = microtime(true);
        $result = $limiter->reserve(0)->getRateLimit();
        self::assertFalse($result->isAccepted());
        self::assertGreaterThanOrEqual($before + 1, $result->getRetryAfter()->getTimestamp());
        try {
            $limiter->reserve(5, 1.4);
            self::fail('A reservation beyond the maximum time was accepted');
        } catch (MaxWaitDurationExceededException $e) {
            self::assertFalse($e->getRateLimit()->isAccepted());
        }
        self::assertDelay(1.5, fn () => $limiter->reserve(5, 1.6));
    }

    public function testAReservationOfTheLastTokenStatesTheTimeOfTheNextOne(): void
    {
        $limiter = $this->bucket('api', 3, '1 hour', 3);
        foreach ([[2, 0], [1, 1200], [0, 1200], [2, 2400], [0, 2400]] as [$tokens, $seconds]) {
            self::assertRetryAfter($seconds, fn () => $limiter->reserve($tokens)->getRateLimit());
        }
    }

    public function testOtherStoragesKeepSymfonysLimiters(): void
    {
        $storage = new InMemoryStorage();
        foreach (['fixed_window', 'sliding_window', 'token_bucket', 'no_limit'] as $policy) {
            $config = ['id' => $policy, 'policy' => $policy, 'limit' => 2, 'interval' => '1 hour', 'rate' => ['interval' => '1 hour']];
            $limiter = (new RateLimiterFactory($config, $storage))->create('key');
            self::assertStringStartsWith('Symfony\\', $limiter::class);
            self::assertTrue($limiter->consume(2)->isAccepted());
            self::assertSame($policy === 'no_limit', $limiter->consume()->isAccepted());
        }
    }

    public function testABucketCannotBeUsedByALimiterThatFetchesAndSaves(): void
    {
        $this->expectExceptionMessage("Symfony's own RateLimiterFactory was loaded before");
        (new BucketStorage($this->memory))->fetch('id');
    }

    public function testDsnSelectsTheStorage(): void
    {
        $classes = [
            'shared-memory' => 'SharedMemory', 'redis://127.0.0.1:1' => 'Redis', 'unix:///nowhere' => 'Redis',
            'memcached://127.0.0.1:1,127.0.0.2:1' => 'Memcached',
        ];
        foreach ($classes as $dsn => $class) {
            self::assertInstanceOf("TokenBucketStorage$class", BucketStorage::fromDsn($dsn, 'space')->storage);
        }
        $one = BucketStorage::fromDsn('shared-memory', 'one' . getmypid());
        $two = BucketStorage::fromDsn('shared-memory', 'two' . getmypid());
        $config = ['id' => 'api', 'policy' => 'fixed_window', 'limit' => 1, 'interval' => '1 hour'];
        foreach ([$one, $two] as $storage) {
            self::assertTrue((new RateLimiterFactory($config, $storage))->create()->consume()->isAccepted());
        }
    }

    private function bucket(string $id, int $limit, string $interval, int $amount): LimiterInterface
    {
        return $this->limiter(['id' => $id, 'policy' => 'token_bucket', 'limit' => $limit, 'rate' => ['interval' => $interval, 'amount' => $amount]]);
    }

    private function limiter(array $config): LimiterInterface
    {
        return (new RateLimiterFactory($config, new BucketStorage($this->memory)))->create('key');
    }

    /** @return array{bool, int, int} */
    private function consumed(LimiterInterface $limiter, int $tokens): array
    {
        $limit = $limiter->consume($tokens);
        return [$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit()];
    }

    /** Asserts the seconds from an instant of the call until getRetryAfter(). */
    private static function assertRetryAfter(float $seconds, \Closure $call): void
    {
        $round = $seconds > 0 ? ceil(...) : floor(...);
        $before = microtime(true);
        $timestamp = $call()->getRetryAfter()->getTimestamp();
        $after = microtime(true);
        self::assertGreaterThanOrEqual($round($before + $seconds), $timestamp);
        self::assertLessThanOrEqual($round($after + $seconds), $timestamp);
    }

    /** Asserts the seconds from an instant of the call until the reservation is due. */
    private static function assertDelay(float $seconds, \Closure $reserve): void
    {
        $before = microtime(true);
        $due = $reserve()->getTimeToAct();
        $after = microtime(true);
        // An instant is precise to less than a microsecond.
        self::assertGreaterThanOrEqual($before + $seconds - 1e-6, $due);
        self::assertLessThanOrEqual($after + $seconds + 1e-6, $due);
    }
}

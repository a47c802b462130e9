<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use Symfony\Component\RateLimiter\SymfonysCompoundLimiter;
use Symfony\Component\RateLimiter\SymfonysRateLimiterFactory;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageMemory;

/** Compares the limiters of the bridge with those of Symfony. */
final class ReplacementTest extends TestCase
{
    private TokenBucketStorageMemory $memory;

    public static function setUpBeforeClass(): void
    {
        // Declares Symfony's classes under other names, because the bridge's classes have their
        // names.
        foreach (['RateLimiterFactory', 'CompoundLimiter'] as $name) {
            $code = file_get_contents(stream_resolve_include_path("Symfony/Component/RateLimiter/$name.php"));
            eval('?>' . str_replace("final class $name", "final class Symfonys$name", $code));
        }
    }

    protected function setUp(): void
    {
        $this->memory = new TokenBucketStorageMemory();
    }

    public function testIntervalsMayHaveFractionsOfASecond(): void
    {
        foreach (['200 milliseconds' => 51, '500 milliseconds' => 21, '1500 milliseconds' => 7, '1 second 250 milliseconds' => 9, '2 seconds' => 6] as $interval => $granted) {
            foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
                $limiter = $this->limiter($policy, 1, $interval, $interval);
                $accepted = 0;
                for ($i = 0; $i <= 1000; $i++, $this->memory->advance(0.01)) {
                    $accepted += (int) $limiter->consume()->isAccepted();
                }
                self::assertSame($granted, $accepted, "$policy, $interval");
            }
        }
    }

    public function testMoreTokensThanTheLimitAreAnsweredAsBySymfony(): void
    {
        foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
            $config = ['id' => $policy, 'policy' => $policy, 'limit' => 5, 'interval' => '1 hour', 'rate' => ['interval' => '1 hour', 'amount' => 5]];
            $answers = [];
            foreach ([new SymfonysRateLimiterFactory($config, new InMemoryStorage()), new \Symfony\Component\RateLimiter\RateLimiterFactory($config, new BucketStorage($this->memory))] as $factory) {
                $limiter = $factory->create('k');
                try {
                    $result = $limiter->consume(6);
                    $answers[] = [$result->isAccepted(), $result->getRemainingTokens(), $limiter->consume(5)->isAccepted()];
                } catch (\InvalidArgumentException $e) {
                    $answers[] = $e->getMessage();
                }
            }
            self::assertSame($answers[0], $answers[1], $policy);
        }
    }

    public function testLimitsThatMeanUnlimitedGrant(): void
    {
        foreach ([10 ** 15, 10 ** 17, PHP_INT_MAX] as $limit) {
            foreach (['10 milliseconds', '1 second', '1 day', '500 years'] as $interval) {
                foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
                    $limiter = $this->limiter($policy, $limit, $interval, "$limit $interval");
                    foreach ([$limiter->consume(), $limiter->consume(0), $limiter->consume(1000), $limiter->reserve()->getRateLimit(), (new CompoundLimiter([$limiter, $limiter]))->consume()] as $result) {
                        self::assertTrue($result->isAccepted());
                        self::assertSame($limit, $result->getLimit());
                        self::assertGreaterThan(10 ** 14, $result->getRemainingTokens());
                    }
                }
            }
        }
    }

    public function testSpansBeyondThoseOfABucketAreShortened(): void
    {
        foreach ([[10, '40 years', 10], [1000, '1 year', 1], [10, '9999 years', 1], [10, '1 hour', 0]] as [$limit, $interval, $amount]) {
            $config = ['id' => "$limit-$interval", 'policy' => 'token_bucket', 'limit' => $limit, 'rate' => ['interval' => $interval, 'amount' => $amount]];
            $this->memory = new TokenBucketStorageMemory();
            $limiter = $this->ofConfig($config)->create();
            self::assertTrue($limiter->consume($limit)->isAccepted());
            $this->memory->advance(0.9e9 / $limit);
            self::assertFalse($limiter->consume()->isAccepted());
            $this->memory->advance(0.2e9 / $limit);
            self::assertTrue($limiter->consume()->isAccepted());
        }
    }

    public function testALimitOfZeroDenies(): void
    {
        // If a bucket denies, no limiter of the application is changed.
        $unchanged = $this->createMock(LimiterInterface::class);
        $unchanged->expects(self::never())->method('consume');
        foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
            $limiter = $this->limiter($policy, 0, '1 hour', 'zero');
            $other = $this->limiter($policy, 5, '1 hour', 'five');
            foreach ([$limiter, new CompoundLimiter([$other, $limiter]), new CompoundLimiter([$unchanged, $limiter])] as $denying) {
                $result = $denying->consume();
                self::assertSame([false, 0, 0], [$result->isAccepted(), $result->getRemainingTokens(), $result->getLimit()]);
                self::assertGreaterThan(time() + 3600, $result->getRetryAfter()->getTimestamp());
            }
            self::assertSame(0, $limiter->consume(0)->getRemainingTokens());
            self::assertSame(5, $other->consume(0)->getRemainingTokens());
        }
    }

    public function testAnIntervalOfNoTimeIsRefused(): void
    {
        $this->expectExceptionMessage('The interval must be positive.');
        $this->limiter('fixed_window', 1, '0 seconds', 'x');
    }

    public function testRetryAfterIsInUtcAsInSymfony(): void
    {
        $zone = date_default_timezone_get();
        date_default_timezone_set('America/New_York');
        try {
            foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
                [$symfonys, $ours] = $this->both($policy, 1);
                foreach ([1, 1, 0] as $tokens) {
                    self::assertSame($symfonys->consume($tokens)->getRetryAfter()->format('e P'), $ours->consume($tokens)->getRetryAfter()->format('e P'));
                }
            }
        } finally {
            date_default_timezone_set($zone);
        }
    }

    public function testAResultCanBeSerialized(): void
    {
        $limiter = $this->limiter('token_bucket', 2, '1 hour', 'x');
        foreach ([$limiter->consume(), $limiter->consume(2), $limiter->consume(0), $limiter->reserve(2)->getRateLimit()] as $result) {
            self::assertEquals($result, unserialize(serialize($result)));
            self::assertEquals($result, unserialize(serialize(clone $result)));
        }
        self::assertSame($result->decision->headers('x'), unserialize(serialize($result))->decision->headers('x'));
    }

    public function testANegativeReservationGivesTokensBackAsInSymfony(): void
    {
        [$symfonys, $ours] = $this->both('token_bucket', 5);
        foreach ([$symfonys, $ours] as $limiter) {
            $limiter->consume(4);
            $reservation = $limiter->reserve(-3);
            $answers[] = [$reservation->getWaitDuration(), $reservation->getRateLimit()->isAccepted(), $limiter->consume(0)->getRemainingTokens()];
        }
        self::assertEquals([0.0, true, 4], $answers[0]);
        self::assertEquals($answers[0], $answers[1]);
    }

    public function testOptionsAreRefusedAsBySymfony(): void
    {
        $good = ['id' => 'x', 'policy' => 'fixed_window', 'limit' => 1, 'interval' => '1 hour'];
        $bucket = ['id' => 'x', 'policy' => 'token_bucket', 'limit' => 1];
        $configs = [
            [], ['id' => 'x'], ['policy' => 'no_limit'], ['id' => 'x', 'policy' => 'leaky_bucket'] + $good, ['policy' => 'token-bucket'] + $good,
            $good + ['intervall' => '1 hour'], ['limit' => '5'] + $good, ['limit' => null] + $good, ['limit' => 1.5] + $good, ['interval' => 60] + $good, ['policy' => null] + $good,
            ['interval' => 'x y'] + $good, ['policy' => 'no_limit', 'interval' => 'x y'] + $good, $bucket + ['rate' => 5], $bucket + ['rate' => ['interval' => '1 hour', 'amount' => '1']],
            $good + ['anchor_at' => 5], $bucket + ['rate' => ['interval' => '1 hour'], 'anchor_at' => '2024-01-05'], $good + ['anchor_at' => 'x y'], $good + ['anchor_at' => '2024-01-05'],
            $bucket + ['rate' => ['interval' => '1 hour', 'per' => 1]], $bucket + ['rate' => ['interval' => 'x y']], $bucket + ['rate' => ['interval' => 3600]],
        ];
        foreach ($configs as $config) {
            $errors = [];
            foreach ([SymfonysRateLimiterFactory::class, RateLimiterFactory::class] as $class) {
                try {
                    new $class($config, new InMemoryStorage());
                    $errors[] = 'none';
                } catch (\Throwable $e) {
                    $errors[] = $e::class . ': ' . strtok($e->getMessage(), ',');
                }
            }
            self::assertSame($errors[0], $errors[1], json_encode($config));
        }
        // As Symfony's bundle passes them.
        $this->ofConfig($good + ['rate' => []])->create();
        $this->ofConfig($bucket + ['rate' => ['interval' => '1 hour', 'amount' => 1], 'interval' => '1 hour'])->create();
    }

    public function testCallsThatCannotSucceedThrowAsInSymfony(): void
    {
        $error = function (callable $call): string {
            try {
                $call();
                return 'none';
            } catch (\Throwable $e) {
                return $e::class . ': ' . str_replace('Symfonys', '', $e->getMessage());
            }
        };
        foreach (['token_bucket', 'fixed_window'] as $policy) {
            [$symfonys, $ours] = $this->both($policy, 5);
            foreach ([fn ($limiter) => $limiter->consume(6), fn ($limiter) => $limiter->reserve(6), fn ($limiter) => $limiter->reserve(6, 0.0)] as $call) {
                self::assertSame($error(fn () => $call($symfonys)), $error(fn () => $call($ours)));
            }
        }
        foreach ([fn ($class) => new $class([]), fn ($class) => (new $class([new NoLimiter()]))->reserve()] as $call) {
            self::assertSame($error(fn () => $call(SymfonysCompoundLimiter::class)), $error(fn () => $call(CompoundLimiter::class)));
        }
    }

    public function testACompoundWithALimiterOfSymfonyTakesFromAllOrFromNone(): void
    {
        foreach (['token_bucket', 'fixed_window', 'sliding_window'] as $policy) {
            foreach ([[1, 10], [10, 1], [3, 3]] as [$ofSymfony, $ofBridge]) {
                $symfonys = $this->both($policy, $ofSymfony)[0];
                $ours = $this->limiter($policy, $ofBridge, '1 hour', "$policy $ofBridge");
                $ours->reset();
                $second = $this->both($policy, 10)[0];
                $compound = new CompoundLimiter([$second, $ours, $symfonys]);
                $accepted = array_sum(array_map(fn () => (int) $compound->consume()->isAccepted(), range(1, 20)));
                self::assertSame(min($ofSymfony, $ofBridge), $accepted);
                $left = fn (LimiterInterface $limiter): int => $limiter->consume(0)->getRemainingTokens();
                self::assertSame([10 - $accepted, $ofSymfony - $accepted, $ofBridge - $accepted], [$left($second), $left($symfonys), $left($ours)]);
            }
        }
    }

    public function testACompoundGivesTokensBackIfALimiterThrows(): void
    {
        $symfonys = $this->both('fixed_window', 10)[0];
        $ours = $this->limiter('fixed_window', 10, '1 hour', 'x');
        try {
            (new CompoundLimiter([$symfonys, $this->both('fixed_window', 1)[0], $ours]))->consume(2);
            self::fail('no exception');
        } catch (\InvalidArgumentException) {
            self::assertSame([10, 10], [$symfonys->consume(0)->getRemainingTokens(), $ours->consume(0)->getRemainingTokens()]);
        }
    }

    public function testACompoundGivesBackToTheOtherLimitersIfOneRefusesThat(): void
    {
        $refusing = $this->createStub(LimiterInterface::class);
        $refusing->method('consume')->willReturnCallback(fn (int $tokens) => $tokens < 0 ? throw new \InvalidArgumentException() : new RateLimit(7, new \DateTimeImmutable(), true, 7));
        [$nine, $one] = [$this->both('fixed_window', 9)[0], $this->both('fixed_window', 1)[0]];
        $compound = new CompoundLimiter([$refusing, $nine, $one]);
        self::assertSame([true, false], [$compound->consume()->isAccepted(), $compound->consume()->isAccepted()]);
        self::assertSame(8, $nine->consume(0)->getRemainingTokens());
    }

    public function testNestedCompoundsTakeFromAllOrFromNone(): void
    {
        [$a, $b, $c] = array_map(fn (int $limit) => $this->limiter('fixed_window', $limit, '1 hour', "$limit"), [9, 2, 8]);
        $symfonys = $this->both('fixed_window', 7)[0];
        $compound = new CompoundLimiter([new CompoundLimiter([$a, new CompoundLimiter([$b, $symfonys])]), $c]);
        $accepted = array_sum(array_map(fn () => (int) $compound->consume()->isAccepted(), range(1, 20)));
        self::assertSame(2, $accepted);
        self::assertSame([7, 0, 5, 6], array_map(fn ($limiter) => $limiter->consume(0)->getRemainingTokens(), [$a, $b, $symfonys, $c]));
        $compound->reset();
        self::assertSame([9, 2, 7, 8], array_map(fn ($limiter) => $limiter->consume(0)->getRemainingTokens(), [$a, $b, $symfonys, $c]));
    }

    public function testTheIdMayBeAnIntegerOrAnObject(): void
    {
        $object = new class {
            public function __toString(): string
            {
                return '8';
            }
        };
        foreach ([7, $object, 1.5, null] as $id) {
            foreach ([false, true] as $accepted) {
                $limiter = $this->ofConfig(['id' => $id] + self::config('fixed_window', 1, '1 hour', 'x'))->create();
                self::assertSame(!$accepted, $limiter->consume()->isAccepted());
            }
        }
    }

    public function testNamesAndKeysDoNotMerge(): void
    {
        $config = ['policy' => 'fixed_window', 'limit' => 1, 'interval' => '1 hour'];
        foreach ([['api', 'v1-alice'], ['api-v1', 'alice'], ['api-v1-alice', null]] as [$id, $key]) {
            self::assertTrue($this->ofConfig(['id' => $id] + $config)->create($key)->consume()->isAccepted());
            self::assertFalse($this->ofConfig(['id' => $id] + $config)->create($key)->consume()->isAccepted());
        }
    }

    private function limiter(string $policy, int $limit, string $interval, string $id): LimiterInterface
    {
        return $this->ofConfig(self::config($policy, $limit, $interval, "$id $policy"))->create('key');
    }

    private function ofConfig(array $config): RateLimiterFactory
    {
        return new RateLimiterFactory($config, new BucketStorage($this->memory));
    }

    /** @return array{LimiterInterface, LimiterInterface} a limiter of Symfony and one of the bridge */
    private function both(string $policy, int $limit): array
    {
        $config = self::config($policy, $limit, '1 hour', "$policy $limit");
        return [(new SymfonysRateLimiterFactory($config, new InMemoryStorage()))->create('key'), $this->ofConfig($config)->create('key')];
    }

    private static function config(string $policy, int $limit, string $interval, string $id): array
    {
        $refill = $policy === 'token_bucket' ? ['rate' => ['interval' => $interval, 'amount' => max(1, $limit)]] : ['interval' => $interval];
        return ['id' => $id, 'policy' => $policy, 'limit' => $limit] + $refill;
    }
}

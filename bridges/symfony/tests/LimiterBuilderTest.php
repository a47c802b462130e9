<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\RateLimiter\RateLimiterBuilder;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use TokenBucket\Bridge\Symfony\BucketLimiter;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageMemory;

require_once __DIR__ . '/../../../tools/testkit/php/processes.php';

/** Tests limits that an application creates at run time, as since Symfony 8.2. */
final class LimiterBuilderTest extends KernelTestCase
{
    public function testTwelveProcessesGetExactlyALimitOfRunTime(): void
    {
        $this->kernel = new TestKernel(static::LIMITERS, ['dsn' => 'shared-memory']);
        $limiter = $this->builder()->fixedWindow('race', 100, new \DateInterval('P1D'))->create('client');
        $limiter->reset();
        $granted = in_processes(12, function (int $index, \Closure $barrier) use ($limiter): int {
            $barrier();
            return count(array_filter(range(1, 50), fn () => $limiter->consume()->isAccepted()));
        });
        self::assertSame(100, array_sum($granted));
    }

    public function testEachPolicyIsABucket(): void
    {
        $this->start();
        $builder = $this->builder();
        foreach ([
            $builder->slidingWindow('a', 6, new \DateInterval('PT1H')),
            $builder->fixedWindow('b', 6, '1 hour'),
            $builder->tokenBucket('c', 6, new \DateInterval('PT10M')),
        ] as $factory) {
            $limiter = $factory->create('client');
            self::assertInstanceOf(BucketLimiter::class, $limiter);
            $before = ceil(microtime(true));
            $result = $limiter->consume(6);
            self::assertGreaterThanOrEqual($before + 3600, $result->getResetAt()->getTimestamp());
            self::assertLessThanOrEqual(ceil(microtime(true)) + 3600, $result->getResetAt()->getTimestamp());
            self::assertEquals($result->getResetAt(), unserialize(serialize($result))->getResetAt());
            $this->memory()->advance(599);
            self::assertFalse($limiter->consume()->isAccepted());
            $this->memory()->advance(1);
            self::assertTrue($limiter->consume()->isAccepted());
        }
    }

    public function testAnIntervalMayBeAnObject(): void
    {
        $memory = new TokenBucketStorageMemory();
        foreach (['PT90S' => '90 seconds', 'P1D' => '1 day', 'P1W' => '1 week', 'PT1H30M' => '90 minutes'] as $object => $text) {
            $resets = array_map(
                fn (string|\DateInterval $interval) => (new RateLimiterFactory(['id' => $text, 'policy' => 'fixed_window', 'limit' => 1, 'interval' => $interval], new BucketStorage($memory)))
                    ->create(uniqid())->consume()->decision->resetAfter,
                [new \DateInterval($object), $text],
            );
            self::assertSame($resets[1], $resets[0], $object);
        }
        $quota = ['id' => 'quota', 'policy' => 'fixed_window', 'limit' => 1, 'anchor_at' => '2024-01-01'];
        foreach (['P1M' => '1 month', 'P7D' => '1 week', 'PT1M' => '1 minute'] as $object => $text) {
            $results = array_map(
                fn (string|\DateInterval $interval) => (new RateLimiterFactory($quota + ['interval' => $interval], new BucketStorage($memory)))->create($object)->consume()->isAccepted(),
                [new \DateInterval($object), $text],
            );
            self::assertSame([true, false], $results);
        }
        $this->expectExceptionMessage('Its interval must be one minute, hour, day, week, month or year, not "1 day 2 hour".');
        (new RateLimiterFactory($quota + ['interval' => new \DateInterval('P1DT2H')], new BucketStorage($memory)))->create();
    }

    /** A new service of the framework that creates limiters fails this test. */
    public function testNoServiceKeepsAStorageOfSymfony(): void
    {
        $this->start();
        self::assertSame([], $this->kernel->getContainer()->getParameter('test.of_symfonys_storages'));
        $this->kernel->shutdown();
        $this->kernel = new TestKernel(static::LIMITERS, null);
        $ofSymfony = $this->kernel->getContainer()->getParameter('test.of_symfonys_storages');
        sort($ofSymfony);
        self::assertSame(['limiter._login_global_main', 'limiter._login_local_main', 'limiter.api', 'limiter_builder'], $ofSymfony);
    }

    private function builder(): RateLimiterBuilder
    {
        return $this->kernel->getContainer()->get('limiter_builder');
    }
}

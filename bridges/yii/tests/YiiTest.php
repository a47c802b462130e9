<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use TokenBucket\Bridge\Yii\Counter;
use TokenBucket\Bridge\Yii\RateLimiter;
use TokenBucket\OnFailure;
use yii\base\InvalidConfigException;
use yii\web\TooManyRequestsHttpException;

final class YiiTest extends TestCase
{
    public function testTheCounterAllowsTheWholeLimit(): void
    {
        $storage = new TokenBucketStorageMemory();
        $counter = new Counter($storage, 3, 60);
        $before = microtime(true);
        $states = array_map(fn () => $counter->hit('a'), range(1, 4));
        $after = microtime(true);
        $this->assertSame([2, 1, 1, 0], array_column($states, 'remaining'));
        $this->assertSame([false, false, false, true], array_map(fn ($state) => $state->isLimitReached(), $states));
        $this->assertSame([3, 3, 3, 3], array_column($states, 'limit'));
        $this->assertGreaterThanOrEqual(ceil($before + 60), $states[3]->resetTime);
        $this->assertLessThanOrEqual(ceil($after + 60), $states[3]->resetTime);
        $this->assertFalse((new Counter($storage, 3, 60))->hit('b')->isLimitReached());
        $this->assertFalse((new Counter($storage, 3, 60, 'other-'))->hit('a')->isLimitReached());
        $storage->advance(20);
        $this->assertFalse($counter->hit('a')->isLimitReached());
        $this->assertTrue($counter->hit('a')->isLimitReached());
    }

    public function testTheCounterReportsAFailingStorage(): void
    {
        $storage = new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Allow);
        $this->assertTrue((new Counter($storage, 3, 60))->hit('a')->isFailStoreUpdatedData);
    }

    public function testTheFilterLimitsTheUser(): void
    {
        $filter = new RateLimiter();
        $filter->storage = new TokenBucketStorageMemory();
        $user = fn (int $id) => new class($id) {
            public function __construct(private readonly int $id)
            {
            }

            public function getId(): int
            {
                return $this->id;
            }

            public function getRateLimit($request, $action): array
            {
                return [2, 60];
            }
        };
        $filter->checkRateLimit($user(1), null, null, null);
        $filter->checkRateLimit($user(1), null, null, null);
        $filter->checkRateLimit($user(2), null, null, null);
        try {
            $filter->checkRateLimit($user(1), null, null, null);
            $this->fail('not limited');
        } catch (TooManyRequestsHttpException $e) {
            $this->assertSame('Rate limit exceeded.', $e->getMessage());
        }
        $this->assertSame([[2, 1, 30], [2, 0, 60], [2, 1, 30], [2, 0, 60]], $filter->headers);
    }

    public function testTheFilterLimitsUsersWithoutAnId(): void
    {
        $filter = new RateLimiter();
        $filter->storage = new TokenBucketStorageMemory();
        // Another limit for each action, as in the interface.
        $user = new class {
            public function getRateLimit($request, $action): array
            {
                return $action === 'list' ? [100, 600] : [1, 60];
            }
        };
        try {
            $filter->checkRateLimit($user, '192.0.2.1', null, 'list');
            $this->fail('without a key');
        } catch (InvalidConfigException $e) {
            $this->assertSame('Set "key", because the user has no getId().', $e->getMessage());
        }
        $filter->key = fn ($user, $request, $action) => $request;
        $filter->checkRateLimit($user, '192.0.2.1', null, 'list');
        $filter->checkRateLimit($user, '192.0.2.1', null, 'save');
        $filter->checkRateLimit($user, '192.0.2.2', null, 'save');
        $filter->checkRateLimit($user, '192.0.2.1', null, 'list');
        $this->assertSame([99, 0, 0, 98], array_column($filter->headers, 1));
        $this->expectException(TooManyRequestsHttpException::class);
        $filter->checkRateLimit($user, '192.0.2.1', null, 'save');
    }
}

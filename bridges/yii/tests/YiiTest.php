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
        foreach ([20, 40, 60, 60] as $i => $seconds) {
            $this->assertGreaterThanOrEqual(ceil($before + $seconds), $states[$i]->resetTime);
            $this->assertLessThanOrEqual(ceil($after + $seconds), $states[$i]->resetTime);
        }
        $this->assertFalse((new Counter($storage, 3, 60))->hit('b')->isLimitReached());
        $this->assertFalse((new Counter($storage, 3, 60, 'other-'))->hit('a')->isLimitReached());
        $storage->advance(20);
        $this->assertFalse($counter->hit('a')->isLimitReached());
        $this->assertTrue($counter->hit('a')->isLimitReached());
    }

    public function testALimitOfZeroDenies(): void
    {
        $state = (new Counter(new TokenBucketStorageMemory(), 0, 60))->hit('a');
        $this->assertSame([0, 0, true], [$state->limit, $state->remaining, $state->isLimitReached()]);
        $this->assertEqualsWithDelta(time() + 60, $state->resetTime, 2);
        $filter = $this->filter();
        try {
            $filter->checkRateLimit($this->user(1, 0, 60), null, null, null);
            $this->fail('not limited');
        } catch (TooManyRequestsHttpException) {
            $this->assertSame([[0, 0, 60]], $filter->headers);
        }
        $this->expectExceptionMessage('The period must be a positive value.');
        new Counter(new TokenBucketStorageMemory(), 1, 0);
    }

    public function testLimitsBeyondThoseOfABucketAreShortened(): void
    {
        foreach ([[PHP_INT_MAX, 1], [10 ** 17, 60], [PHP_INT_MAX, 86400], [7, PHP_INT_MAX]] as [$limit, $seconds]) {
            $state = (new Counter(new TokenBucketStorageMemory(), $limit, $seconds))->hit('a');
            $this->assertFalse($state->isLimitReached());
            $this->assertGreaterThan($limit / 2, $state->remaining);
            $filter = $this->filter();
            $filter->checkRateLimit($this->user(1, $limit, $seconds), null, null, null);
            $filter->checkRateLimit($this->user(1, "$limit", "$seconds"), null, null, null);
            $this->assertSame([$limit, $limit], array_column($filter->headers, 0));
            $this->assertGreaterThan($limit / 2, $filter->headers[1][1]);
        }
    }

    public function testProjectsAndPrefixesHaveBucketsOfTheirOwn(): void
    {
        $storage = new TokenBucketStorageMemory();
        foreach ([['/srv/one/', null], ['/srv/two/', null], ['/srv/one/', 'a'], ['/srv/one/', 'ab'], ['/srv/one/', '']] as $i => [$path, $prefix]) {
            Composer\InstalledVersions::$path = $path;
            $counter = new Counter($storage, 1, 60, $prefix);
            // The prefix "a" with the id "bc", and "ab" with "c".
            $hits[] = array_map(fn () => $counter->hit(substr('abc', strlen((string) $prefix)))->isLimitReached(), range(1, 2));
            $filter = $this->filter($storage);
            $filter->prefix = $prefix;
            $filter->key = fn () => substr('abc', strlen((string) $prefix));
            $filter->checkRateLimit($this->user(1, 2, 60), null, null, null);
            $this->assertSame(1, $filter->headers[0][1]);
        }
        $this->assertSame(array_fill(0, 5, [false, true]), $hits);
        // Counters of one prefix and other numbers share a bucket, as in Yii.
        $this->assertTrue((new Counter($storage, 2, 3600, 'a'))->hit('bc')->isLimitReached());
    }

    public function testTheCounterReportsAFailingStorage(): void
    {
        $storage = new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Allow);
        $this->assertTrue((new Counter($storage, 3, 60))->hit('a')->isFailStoreUpdatedData);
    }

    public function testAnUnavailableStoreDoesNotAskForAWholePeriod(): void
    {
        $storage = new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Deny);
        $before = microtime(true);
        $state = (new Counter($storage, 3, 86400))->hit('a');
        $this->assertLessThanOrEqual(ceil(microtime(true) + 1), $state->resetTime);
        $this->assertGreaterThanOrEqual(ceil($before + 1), $state->resetTime);
        $this->assertTrue($state->isLimitReached());
        $filter = $this->filter($storage);
        try {
            $filter->checkRateLimit($this->user(1, 3, 86400), null, null, null);
            $this->fail('not limited');
        } catch (TooManyRequestsHttpException) {
            $this->assertSame([[3, 0, 1]], $filter->headers);
        }
    }

    public function testTheFilterLimitsTheUser(): void
    {
        $filter = $this->filter();
        $user = fn (int $id) => $this->user($id, 2, 60);
        $filter->checkRateLimit($user(1), null, null, null);
        $filter->checkRateLimit($user(1), null, null, null);
        $filter->checkRateLimit($user(2), null, null, null);
        try {
            $filter->checkRateLimit($user(1), null, null, null);
            $this->fail('not limited');
        } catch (TooManyRequestsHttpException $e) {
            $this->assertSame('Rate limit exceeded.', $e->getMessage());
        }
        $filter->checkRateLimit($this->user(3, 7, 60), null, null, null);
        $this->assertSame([[2, 1, 30], [2, 0, 60], [2, 1, 30], [2, 0, 60], [7, 6, 9]], $filter->headers);
    }

    public function testUsersOfTwoClassesMayHaveTheSameId(): void
    {
        $administrator = new class {
            public function getId(): string
            {
                return '1';
            }

            public function getRateLimit($request, $action): array
            {
                return [1, 60];
            }
        };
        $filter = $this->filter();
        $filter->checkRateLimit($this->user(1, 1, 60), null, null, null);
        $filter->checkRateLimit($administrator, null, null, null);
        $this->assertSame([[1, 0, 60], [1, 0, 60]], $filter->headers);
        $this->expectException(TooManyRequestsHttpException::class);
        $filter->checkRateLimit($administrator, null, null, null);
    }

    public function testTheFilterLimitsUsersWithoutAnId(): void
    {
        $filter = $this->filter();
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
        $filter->key = fn ($user, $request, $action) => "$action $request";
        $filter->checkRateLimit($user, '192.0.2.1', null, 'list');
        $filter->checkRateLimit($user, '192.0.2.1', null, 'save');
        $filter->checkRateLimit($user, '192.0.2.2', null, 'save');
        $filter->checkRateLimit($user, '192.0.2.1', null, 'list');
        $this->assertSame([99, 0, 0, 98], array_column($filter->headers, 1));
        $this->expectException(TooManyRequestsHttpException::class);
        $filter->checkRateLimit($user, '192.0.2.1', null, 'save');
    }

    public function testComputedNumbersMakeNoNewBucket(): void
    {
        foreach ([fn (int $i) => [20, 43200 - $i], fn (int $i) => [20 - $i % 8, 43200], fn (int $i) => ['20', (string) (43200 + $i)]] as $numbers) {
            $filter = $this->filter();
            $granted = 0;
            for ($i = 0; $i < 200; $i++) {
                try {
                    $filter->checkRateLimit($this->user(1, ...$numbers($i)), null, null, null);
                    $granted++;
                } catch (TooManyRequestsHttpException) {
                }
                $filter->storage->advance(1);
            }
            $this->assertLessThanOrEqual(20, $granted);
            $this->assertGreaterThanOrEqual(15, $granted);
        }
    }

    public function testTheFilterReportsAMissingExtensionWhenItIsCreated(): void
    {
        exec(escapeshellarg(PHP_BINARY) . ' -n -d display_errors=1 -r ' . escapeshellarg('require $argv[1]; (new TokenBucket\Bridge\Yii\RateLimiter())->init();') . ' -- ' . escapeshellarg(__DIR__ . '/bootstrap.php') . ' 2>&1', $output);
        $this->assertStringContainsString('InvalidConfigException: TokenBucket\Bridge\Yii\RateLimiter needs the extension tokenbucket, which this PHP does not load.', implode("\n", $output));
        $filter = new RateLimiter();
        $filter->init();
        $this->assertInstanceOf(TokenBucketStorageSharedMemory::class, $filter->storage);
    }

    private function filter(TokenBucketStorage $storage = new TokenBucketStorageMemory()): RateLimiter
    {
        $filter = new RateLimiter();
        $filter->storage = $storage;
        return $filter;
    }

    private function user(int $id, int|string $limit, int|string $seconds): object
    {
        return new class($id, $limit, $seconds) {
            public function __construct(private readonly int $id, private readonly int|string $limit, private readonly int|string $seconds)
            {
            }

            public function getId(): int
            {
                return $this->id;
            }

            public function getRateLimit($request, $action): array
            {
                return [$this->limit, $this->seconds];
            }
        };
    }
}

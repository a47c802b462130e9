<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\Config\Definition\Exception\InvalidConfigurationException;
use Symfony\Component\DependencyInjection\Exception\LogicException;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageMemory;

/** Tests what the bundle refuses when the container is built, and the settings of Symfony 8. */
final class ConfigurationTest extends TestCase
{
    private const LIMITER = ['api' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 hour', 'lock_factory' => null]];
    private const COMPOUND = ['policy' => 'compound', 'limiters' => ['api']];

    private ?TestKernel $kernel = null;

    protected function tearDown(): void
    {
        $this->kernel?->shutdown();
    }

    public static function tearDownAfterClass(): void
    {
        TestKernel::removeCaches();
    }

    public function testTheAttributeOfSymfonyTakesTokensFromTheBuckets(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has the attribute RateLimit since 8.1');
        }
        $this->start(limiters: ['both' => self::COMPOUND]);
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->attribute('/attribute'), range(1, 4)));
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->attribute('/compound'), range(1, 4)));
        $this->kernel->getContainer()->get(TokenBucketStorageMemory::class)->advance(1200);
        self::assertSame([200, 429], array_map(fn () => $this->attribute('/attribute'), range(1, 2)));
        self::assertSame([200, 429], array_map(fn () => $this->attribute('/compound'), range(1, 2)));
    }

    public function testTheAttributeWithALimiterOfSymfonyIgnoresTheBuckets(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has the attribute RateLimit since 8.1');
        }
        $this->start(['except' => ['api']], ['both' => self::COMPOUND]);
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->attribute('/attribute'), range(1, 4)));
        $this->kernel->getContainer()->get(TokenBucketStorageMemory::class)->advance(7200);
        self::assertSame(429, $this->attribute('/attribute'));
    }

    public function testAWindowOfTheCalendarIsAQuota(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has anchor_at since 8.1');
        }
        $monthly = ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 month', 'anchor_at' => '2023-12-31 06:00:00 Europe/Berlin', 'lock_factory' => null];
        $this->start(limiters: ['monthly' => $monthly, 'both' => ['policy' => 'compound', 'limiters' => ['api', 'monthly']]]);
        $limiter = $this->kernel->getContainer()->get('limiter.monthly')->create('x');
        $accepted = fn () => array_map(fn () => $limiter->consume()->isAccepted(), range(1, 4));
        self::assertSame([true, true, true, false], $accepted());
        $memory = $this->kernel->getContainer()->get(TokenBucketStorageMemory::class);
        // The clock begins at 2024-01-01 00:00 UTC. The window ends at 2024-01-31 05:00 UTC.
        $memory->advance(30 * 86400 + 5 * 3600 - 1);
        self::assertFalse($limiter->consume()->isAccepted());
        $memory->advance(1);
        self::assertSame([true, true, true, false], $accepted());
        // The next window begins on the last day of February.
        $memory->advance(29 * 86400 - 1);
        self::assertFalse($limiter->consume()->isAccepted());
        $memory->advance(1);
        $both = $this->kernel->getContainer()->get('limiter.both')->create('x');
        self::assertSame([true, true, true, false], array_map(fn () => $both->consume()->isAccepted(), range(1, 4)));
        $limiter->consume(-1);
        self::assertSame([true, 0, 3], [$limiter->consume()->isAccepted(), $limiter->consume(0)->getRemainingTokens(), $limiter->consume()->getLimit()]);
        $this->expectException(ReserveNotSupportedException::class);
        $limiter->reserve();
    }

    public function testTheWindowsOfTheCalendarEndAsInSymfony(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has anchor_at since 8.1');
        }
        foreach (['1 month', '1 year', ' 1  Months '] as $interval) {
            foreach (['2024-01-05', '2023-11-28 23:59:59 America/New_York', '2031-07-15T12:00:00+05:30'] as $anchor) {
                $config = ['id' => "$interval $anchor", 'policy' => 'fixed_window', 'limit' => 2, 'interval' => $interval, 'anchor_at' => $anchor];
                $answers = [];
                foreach ([new InMemoryStorage(), BucketStorage::fromDsn('shared-memory', 'anchors' . getmypid())] as $storage) {
                    $limiter = (new RateLimiterFactory($config, $storage))->create('x');
                    $answers[] = array_map(function (int $tokens) use ($limiter): array {
                        $result = $limiter->consume($tokens);
                        return [$result->isAccepted(), $result->getRemainingTokens(), $result->isAccepted() && $result->getRemainingTokens() ? 0 : intdiv($result->getRetryAfter()->getTimestamp() + 1, 10)];
                    }, [1, 1, 1, 2]);
                }
                self::assertSame($answers[0], $answers[1], "$interval $anchor");
            }
        }
    }

    public function testAWindowOfTheCalendarIsRefusedWhenTheContainerIsBuilt(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has anchor_at since 8.1');
        }
        $limiters = ['monthly' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '2 months', 'anchor_at' => '2024-01-05', 'lock_factory' => null]];
        foreach ([[], ['interval' => '1 month', 'limit' => PHP_INT_MAX], ['interval' => '1 month', 'anchor_at' => 'nonsense'], ['interval' => '1 month', 'anchor_at' => 'midnight']] as $change) {
            try {
                $this->start(limiters: ['monthly' => $change + $limiters['monthly']]);
                self::fail('A quota has no such windows');
            } catch (LogicException $e) {
                self::assertStringStartsWith('The limiter "monthly" of framework.rate_limiter cannot be a quota: ', $e->getMessage());
            }
        }
        $this->start(['except' => ['monthly']], $limiters);
        $factory = $this->kernel->getContainer()->get('limiter.monthly');
        $limit = $factory->create('x')->consume(3);
        self::assertTrue($limit->isAccepted());
        self::assertSame('05 00:00:00', $limit->getRetryAfter()->format('d H:i:s'));
        self::assertFalse($factory->create('x')->consume()->isAccepted());
    }

    public function testALimiterOfTheSettingQuotasFollowsTheCalendar(): void
    {
        $window = fn (string $interval) => ['policy' => 'fixed_window', 'limit' => 2, 'interval' => $interval, 'lock_factory' => null];
        $limiters = ['daily-exports' => $window('1 day'), 'mails' => $window('1 week')];
        $this->start(['quotas' => ['daily-exports' => '2023-05-06 06:00 Asia/Tokyo', 'mails' => null, '_login_local_main' => null]], $limiters);
        $container = $this->kernel->getContainer();
        $memory = $container->get(TokenBucketStorageMemory::class);
        // The clock begins on Monday, 2024-01-01 00:00 UTC, which is 09:00 in Tokyo.
        // As in Symfony, a name has underscores instead of dashes.
        foreach (['daily_exports' => 21 * 3600, 'mails' => 7 * 86400] as $name => $end) {
            $limiter = $container->get("limiter.$name")->create('x');
            $accepted = fn () => array_map(fn () => $limiter->consume()->isAccepted(), range(1, 3));
            self::assertSame([true, true, false], $accepted());
            $memory->advance($end - 1);
            self::assertFalse($limiter->consume()->isAccepted(), $name);
            $memory->advance(1);
            self::assertSame([true, true, false], $accepted(), $name);
            $memory->advance(7 * 86400 - $end);
        }
        $login = fn (string $password) => $this->kernel->handle(Request::create('/login', server: ['PHP_AUTH_USER' => 'alice', 'PHP_AUTH_PW' => $password]), HttpKernelInterface::MAIN_REQUEST, false)->getStatusCode();
        array_map(fn () => $login('wrong'), range(1, 3));
        $memory->advance(3599);
        self::assertSame(401, $login('right'));
        $memory->advance(1);
        self::assertSame([200, 200], [$login('right'), $login('right')]);
        // The other limiters refill continuously.
        $api = $container->get('limiter.api')->create('x');
        $api->consume(3);
        $memory->advance(1200);
        self::assertTrue($api->consume()->isAccepted());
    }

    public function testALimiterThatCannotBeAQuotaIsRefusedWhenTheContainerIsBuilt(): void
    {
        $refused = [
            ['name' => 'missing', 'message' => 'The limiter "missing" of token_bucket.quotas does not exist'],
            ['name' => 'api', 'bridge' => ['except' => ['api']], 'message' => 'The limiter "api" of token_bucket.quotas does not exist, or token_bucket.except has it, too.'],
            ['name' => 'sliding', 'message' => 'The limiter "sliding" cannot be one of token_bucket.quotas: its policy is "sliding_window", not "fixed_window".'],
            ['name' => 'quarter', 'message' => 'The limiter "quarter" of framework.rate_limiter cannot be a quota: Its interval must be one minute, hour, day, week, month or year, not "15 minutes".'],
            ['name' => 'api', 'start' => 'nonsense', 'message' => 'The limiter "api" of framework.rate_limiter cannot be a quota: Cannot parse'],
            ['name' => 'api', 'start' => 'Europe/Berlin', 'message' => 'must be a whole date, not "Europe/Berlin", which depends on the present.'],
            ['name' => 'api', 'start' => 'monday', 'message' => 'must be a whole date, not "monday", which depends on the present.'],
            ['name' => 'api', 'start' => 1704067200, 'message' => 'YAML reads a date without quotes as a number.'],
        ];
        if (TestKernel::VERSION_ID >= 80100) {
            $refused[] = ['name' => 'anchored', 'message' => 'The limiter "anchored" cannot be one of token_bucket.quotas: it has the option "anchor_at".'];
        }
        $limiters = [
            'sliding' => ['policy' => 'sliding_window', 'limit' => 3, 'interval' => '1 hour', 'lock_factory' => null],
            'quarter' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '15 minutes', 'lock_factory' => null],
        ];
        if (TestKernel::VERSION_ID >= 80100) {
            $limiters['anchored'] = ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 month', 'anchor_at' => '2024-01-05', 'lock_factory' => null];
        }
        foreach ($refused as $case) {
            try {
                $this->start(['quotas' => [$case['name'] => $case['start'] ?? null]] + ($case['bridge'] ?? []), $limiters);
                self::fail("$case[name] was accepted");
            } catch (LogicException|InvalidConfigurationException $e) {
                self::assertStringContainsString($case['message'], $e->getMessage());
            }
        }
    }

    public function testAWrongDsnIsRefusedWhenTheContainerIsBuilt(): void
    {
        foreach (['sharedmemory', 'redis://user:secret@host:99999', 'memcached://host:port', '%kernel.environment%://'] as $dsn) {
            try {
                new TestKernel(self::LIMITER, ['dsn' => $dsn]);
                self::fail("$dsn was accepted");
            } catch (InvalidConfigurationException $e) {
                self::assertStringStartsWith('Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', $e->getMessage());
                self::assertStringNotContainsString('secret', "$e");
            }
        }
    }

    public function testAWrongDsnOfAnEnvironmentVariableIsRefusedWhenTheKernelStarts(): void
    {
        // The machine that builds the cache does not have the variable.
        $this->kernel = new TestKernel(self::LIMITER, ['dsn' => '%env(TOKEN_BUCKET_DSN)%']);
        $this->kernel->shutdown();
        try {
            $_ENV['TOKEN_BUCKET_DSN'] = 'redis://user:secret@host:99999';
            $this->kernel->boot();
            self::fail('The DSN was accepted');
        } catch (InvalidConfigurationException $e) {
            self::assertStringStartsWith('Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', $e->getMessage());
            self::assertStringNotContainsString('secret', "$e");
        } finally {
            unset($_ENV['TOKEN_BUCKET_DSN']);
        }
    }

    public function testAnUnknownLimiterIsRefusedWhenTheContainerIsBuilt(): void
    {
        $this->expectExceptionMessage('The limiter "ap" of token_bucket.except does not exist, or has no bucket.');
        new TestKernel(self::LIMITER, ['except' => ['api', 'ap']]);
    }

    public function testAnUnknownOptionIsRefusedWhenTheContainerIsBuilt(): void
    {
        $this->expectExceptionMessage('Unrecognized option "dns" under "token_bucket"');
        new TestKernel(self::LIMITER, ['dns' => 'shared-memory']);
    }

    public function testAMissingExtensionIsReportedWhenTheKernelStarts(): void
    {
        $code = 'require $argv[1]; new TokenBucket\\Bridge\\Symfony\\TokenBucketBundle();';
        exec(escapeshellarg(PHP_BINARY) . ' -n -d display_errors=1 -d include_path=' . escapeshellarg(get_include_path()) . ' -r ' . escapeshellarg($code) . ' -- ' . escapeshellarg(__DIR__ . '/bootstrap.php') . ' 2>&1', $output);
        self::assertStringContainsString('LogicException: TokenBucketBundle in config/bundles.php needs the extension tokenbucket, which this PHP does not load.', implode("\n", $output));
    }

    public function testThePolyfillHasWindowsOfTheCalendar(): void
    {
        $code = 'require $argv[1]; require $argv[2]; $limiter = (new TokenBucket\Bridge\Symfony\RateLimiterFactory(["id" => "x", "policy" => "fixed_window", "limit" => 1, "interval" => "1 day", "anchor_at" => "2024-01-01"], new TokenBucket\Bridge\Symfony\BucketStorage(new TokenBucketStorageMemory)))->create(); var_dump($limiter->consume()->isAccepted(), $limiter->consume()->isAccepted());';
        exec(escapeshellarg(PHP_BINARY) . ' -n -d display_errors=1 -d include_path=' . escapeshellarg(get_include_path()) . ' -r ' . escapeshellarg($code) . ' -- ' . escapeshellarg(__DIR__ . '/bootstrap.php') . ' ' . escapeshellarg(__DIR__ . '/../../polyfill/src/autoload.php') . ' 2>&1', $output);
        self::assertSame(['bool(true)', 'bool(false)'], $output);
    }

    private function start(array $bridge = [], array $limiters = []): void
    {
        $this->kernel = new TestKernel(self::LIMITER + $limiters, $bridge + ['service' => TokenBucketStorageMemory::class]);
    }

    /** Returns the status of a request to a controller with the attribute. */
    private function attribute(string $path): int
    {
        try {
            return $this->kernel->handle(Request::create($path), HttpKernelInterface::MAIN_REQUEST, false)->getStatusCode();
        } catch (TooManyRequestsHttpException $e) {
            self::assertGreaterThan(0, $e->getHeaders()['Retry-After']);
            self::assertLessThanOrEqual(3601, $e->getHeaders()['Retry-After']);
            return $e->getStatusCode();
        }
    }
}

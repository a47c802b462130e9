<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\Config\Definition\Exception\InvalidConfigurationException;
use Symfony\Component\DependencyInjection\Exception\LogicException;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use TokenBucket\Bridge\Symfony\BucketStorage;

/** Tests what the bundle refuses when the container is built, and the settings of Symfony 8. */
final class ConfigurationTest extends KernelTestCase
{
    public function testTheAttributeOfSymfonyTakesTokensFromTheBuckets(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has the attribute RateLimit since 8.1');
        }
        $this->start(limiters: ['both' => ['policy' => 'compound', 'limiters' => ['api']]]);
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->attribute('/attribute'), range(1, 4)));
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->attribute('/compound'), range(1, 4)));
        $this->memory()->advance(1200);
        self::assertSame([200, 429], array_map(fn () => $this->attribute('/attribute'), range(1, 2)));
        self::assertSame([200, 429], array_map(fn () => $this->attribute('/compound'), range(1, 2)));
    }

    public function testAWindowOfTheCalendarIsAQuota(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has anchor_at since 8.1');
        }
        $monthly = ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 month', 'anchor_at' => '2023-12-31 06:00:00 Europe/Berlin', 'lock_factory' => null];
        $this->start(limiters: ['monthly' => $monthly, 'both' => ['policy' => 'compound', 'limiters' => ['api', 'monthly']]]);
        $limiter = $this->factory('monthly')->create('x');
        $accepted = fn () => array_map(fn () => $limiter->consume()->isAccepted(), range(1, 4));
        self::assertSame([true, true, true, false], $accepted());
        $memory = $this->memory();
        // The clock begins at 2024-01-01 00:00 UTC. The window ends at 2024-01-31 05:00 UTC.
        $memory->advance(30 * 86400 + 5 * 3600 - 1);
        self::assertFalse($limiter->consume()->isAccepted());
        $memory->advance(1);
        self::assertSame([true, true, true, false], $accepted());
        // The next window begins on the last day of February.
        $memory->advance(29 * 86400 - 1);
        self::assertFalse($limiter->consume()->isAccepted());
        $memory->advance(1);
        $both = $this->factory('both')->create('x');
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
        $limiter = $this->factory('monthly')->create('x');
        $limit = $limiter->consume(3);
        self::assertTrue($limit->isAccepted());
        self::assertSame('05 00:00:00', $limit->getRetryAfter()->format('d H:i:s'));
        self::assertFalse($limiter->consume()->isAccepted());
    }

    public function testALimiterOfTheSettingQuotasFollowsTheCalendar(): void
    {
        $window = fn (string $interval) => ['policy' => 'fixed_window', 'limit' => 2, 'interval' => $interval, 'lock_factory' => null];
        $limiters = ['daily-exports' => $window('1 day'), 'mails' => $window('1 week')];
        $this->start(['quotas' => ['daily-exports' => '2023-05-06 06:00 Asia/Tokyo', 'mails' => null, '_login_local_main' => null]], $limiters);
        $memory = $this->memory();
        // The clock begins on Monday, 2024-01-01 00:00 UTC, which is 09:00 in Tokyo.
        // As in Symfony, a name has underscores instead of dashes.
        foreach (['daily_exports' => 21 * 3600, 'mails' => 7 * 86400] as $name => $end) {
            $limiter = $this->factory($name)->create('x');
            $accepted = fn () => array_map(fn () => $limiter->consume()->isAccepted(), range(1, 3));
            self::assertSame([true, true, false], $accepted());
            $memory->advance($end - 1);
            self::assertFalse($limiter->consume()->isAccepted(), $name);
            $memory->advance(1);
            self::assertSame([true, true, false], $accepted(), $name);
            $memory->advance(7 * 86400 - $end);
        }
        array_map(fn () => $this->login('alice', 'wrong'), range(1, 3));
        $memory->advance(3599);
        self::assertSame(401, $this->login('alice', 'right'));
        $memory->advance(1);
        self::assertSame([200, 200], [$this->login('alice', 'right'), $this->login('alice', 'right')]);
        // The other limiters refill continuously.
        $api = $this->factory('api')->create('x');
        $api->consume(3);
        $memory->advance(1200);
        self::assertTrue($api->consume()->isAccepted());
    }

    public function testAWrongConfigurationIsRefusedWhenTheContainerIsBuilt(): void
    {
        $limiters = self::LIMITERS + [
            'sliding' => ['policy' => 'sliding_window', 'limit' => 3, 'interval' => '1 hour', 'lock_factory' => null],
            'quarter' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '15 minutes', 'lock_factory' => null],
        ];
        $refused = [
            ['Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', ['dsn' => 'sharedmemory']],
            ['Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', ['dsn' => 'redis://user:secret@host:99999']],
            ['Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', ['dsn' => 'memcached://host:port']],
            ['Invalid "token_bucket.dsn" in config/packages: TokenBucketStorage', ['dsn' => '%kernel.environment%://']],
            ['The limiter "ap" of token_bucket.except does not exist, or has no bucket.', ['except' => ['api', 'ap']]],
            ['Unrecognized option "dns" under "token_bucket"', ['dns' => 'shared-memory']],
            ['The limiter "missing" of token_bucket.quotas does not exist', ['quotas' => ['missing' => null]]],
            ['The limiter "api" of token_bucket.quotas does not exist, or token_bucket.except has it, too.', ['quotas' => ['api' => null], 'except' => ['api']]],
            ['The limiter "sliding" cannot be one of token_bucket.quotas: its policy is "sliding_window", not "fixed_window".', ['quotas' => ['sliding' => null]]],
            ['The limiter "quarter" of framework.rate_limiter cannot be a quota: Its interval must be one minute, hour, day, week, month or year, not "15 minutes".', ['quotas' => ['quarter' => null]]],
            ['The limiter "api" of framework.rate_limiter cannot be a quota: Cannot parse', ['quotas' => ['api' => 'nonsense']]],
            ['must be a whole date, not "Europe/Berlin", which depends on the present.', ['quotas' => ['api' => 'Europe/Berlin']]],
            ['must be a whole date, not "monday", which depends on the present.', ['quotas' => ['api' => 'monday']]],
            ['YAML reads a date without quotes as a number.', ['quotas' => ['api' => 1704067200]]],
        ];
        if (TestKernel::VERSION_ID >= 80100) {
            $limiters['anchored'] = ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 month', 'anchor_at' => '2024-01-05', 'lock_factory' => null];
            $refused[] = ['The limiter "anchored" cannot be one of token_bucket.quotas: it has the option "anchor_at".', ['quotas' => ['anchored' => null]]];
        }
        foreach ($refused as [$message, $bridge]) {
            try {
                new TestKernel($limiters, $bridge);
                self::fail("$message: this was accepted");
            } catch (LogicException|InvalidConfigurationException $e) {
                self::assertStringContainsString($message, $e->getMessage());
                self::assertStringNotContainsString('secret', "$e");
            }
        }
    }

    public function testAWrongDsnOfAnEnvironmentVariableIsRefusedWhenTheKernelStarts(): void
    {
        // The machine that builds the cache does not have the variable.
        $this->kernel = new TestKernel(self::LIMITERS, ['dsn' => '%env(TOKEN_BUCKET_DSN)%']);
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

    /** Returns the status of a request to a controller with the attribute. */
    private function attribute(string $path): int
    {
        try {
            return $this->send(Request::create($path))->getStatusCode();
        } catch (TooManyRequestsHttpException $e) {
            self::assertGreaterThan(0, $e->getHeaders()['Retry-After']);
            self::assertLessThanOrEqual(3601, $e->getHeaders()['Retry-After']);
            return $e->getStatusCode();
        }
    }
}

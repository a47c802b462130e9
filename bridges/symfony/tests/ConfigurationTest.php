<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\Config\Definition\Exception\InvalidConfigurationException;
use Symfony\Component\DependencyInjection\Exception\LogicException;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\HttpKernel\HttpKernelInterface;
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

    public function testAWindowOfTheCalendarIsRefusedWhenTheContainerIsBuilt(): void
    {
        if (TestKernel::VERSION_ID < 80100) {
            self::markTestSkipped('Symfony has anchor_at since 8.1');
        }
        $limiters = ['monthly' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 month', 'anchor_at' => '2024-01-05', 'lock_factory' => null]];
        try {
            $this->start(limiters: $limiters);
            self::fail('A bucket has no windows');
        } catch (LogicException $e) {
            self::assertStringContainsString('The limiter "monthly" of framework.rate_limiter has the option "anchor_at"', $e->getMessage());
        }
        $this->start(['except' => ['monthly']], $limiters);
        $factory = $this->kernel->getContainer()->get('limiter.monthly');
        $limit = $factory->create('x')->consume(3);
        self::assertTrue($limit->isAccepted());
        self::assertSame('05 00:00:00', $limit->getRetryAfter()->format('d H:i:s'));
        self::assertFalse($factory->create('x')->consume()->isAccepted());
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
        // Its value is known later.
        $this->kernel = new TestKernel(self::LIMITER, ['dsn' => '%env(TOKEN_BUCKET_DSN)%']);
        self::assertInstanceOf(TestKernel::class, $this->kernel);
    }

    public function testAMissingExtensionIsReportedWhenTheContainerIsBuilt(): void
    {
        $code = 'require $argv[1]; (new TokenBucket\\Bridge\\Symfony\\TokenBucketBundle())->build(new Symfony\\Component\\DependencyInjection\\ContainerBuilder());';
        exec(escapeshellarg(PHP_BINARY) . ' -n -d display_errors=1 -d include_path=' . escapeshellarg(get_include_path()) . ' -r ' . escapeshellarg($code) . ' -- ' . escapeshellarg(__DIR__ . '/bootstrap.php') . ' 2>&1', $output);
        self::assertStringContainsString('LogicException: TokenBucketBundle in config/bundles.php needs the extension tokenbucket, which this PHP does not load.', implode("\n", $output));
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

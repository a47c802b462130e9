<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use TokenBucketStorageMemory;

/** Tests of an application with FrameworkBundle, SecurityBundle and the bundle. */
abstract class KernelTestCase extends TestCase
{
    /** The limiters of each application. Its controllers need the limiter "api". */
    protected const LIMITERS = ['api' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 hour', 'lock_factory' => null]];

    protected ?TestKernel $kernel = null;

    protected function tearDown(): void
    {
        $this->kernel?->shutdown();
    }

    public static function tearDownAfterClass(): void
    {
        TestKernel::removeCaches();
    }

    /** Starts an application with buckets in memory, and with these limiters added. */
    protected function start(array $bridge = [], array $limiters = []): void
    {
        $this->kernel = new TestKernel($limiters + static::LIMITERS, $bridge + ['service' => TokenBucketStorageMemory::class]);
    }

    protected function memory(): TokenBucketStorageMemory
    {
        return $this->kernel->getContainer()->get(TokenBucketStorageMemory::class);
    }

    /** Returns the factory of a limiter. */
    protected function factory(string $name): object
    {
        return $this->kernel->getContainer()->get("limiter.$name");
    }

    protected function login(string $name, string $password, string $address = '192.0.2.7'): int
    {
        return $this->send(Request::create('/login', server: ['PHP_AUTH_USER' => $name, 'PHP_AUTH_PW' => $password, 'REMOTE_ADDR' => $address]))->getStatusCode();
    }

    protected function send(Request $request): Response
    {
        return $this->kernel->handle($request, HttpKernelInterface::MAIN_REQUEST, false);
    }
}

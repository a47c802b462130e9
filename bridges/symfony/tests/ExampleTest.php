<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use RedisServer;

require_once __DIR__ . '/../../../testkit/php/servers.php';

/** Tests examples/symfony behind nginx, with eight clients at the same time. */
final class ExampleTest extends TestCase
{
    private ?ExampleServer $server = null;

    protected function tearDown(): void
    {
        $this->server?->stop();
    }

    public function testExactlyTheLimitPassesAndMoreWithoutTheBridge(): void
    {
        $this->server = new ExampleServer();
        foreach (['plain', 'prod'] as $environment) {
            self::assertSame([200 => 1], $this->server->send($environment, 'warm', 1), (string) @file_get_contents($this->server->log));
        }
        $plain = $this->server->send('plain', 'a', 400);
        $exact = $this->server->send('prod', 'a', 400);
        fprintf(STDERR, "Of 400 requests under a limit of 100 pass: %d with the bridge, %d without\n", $exact[200], $plain[200]);
        self::assertSame([200 => 100, 429 => 300], $exact);
        self::assertGreaterThan(100, $plain[200]);
        // One client after another is limited without the bridge, too.
        self::assertSame([200 => 100, 429 => 20], $this->server->send('plain', 'b', 120, 1));
    }

    public function testRequestsContinueUnderTheLocalLimitWhenRedisIsDown(): void
    {
        $redis = RedisServer::start();
        $this->server = new ExampleServer(['TOKEN_BUCKET_DSN' => "unix://$redis->socket"]);
        self::assertSame([200 => 10], $this->server->send('redis', 'a', 10), (string) @file_get_contents($this->server->log));
        $redis->kill();
        self::assertSame([200 => 100, 429 => 50], $this->server->send('redis', 'a', 150));
        self::assertCount(1, preg_grep('/tokenbucket/', file($this->server->log)), file_get_contents($this->server->log));
    }
}

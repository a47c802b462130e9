<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use RedisServer;

require_once __DIR__ . '/../../../tools/testkit/php/servers.php';

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
            self::assertSame([200 => 1], $this->server->search($environment, 'warm', 1), $this->server->log());
        }
        $start = microtime(true);
        $exact = $this->server->search('prod', 'a', 400);
        // The bucket refills one of a hundred tokens in 36 seconds.
        $refilled = (int) ((microtime(true) - $start) / 36);
        // Symfony's limiter does not lose the race in every round.
        for ($round = 1, $passed = 0; $round <= 10 && $passed <= 100; $round++) {
            $passed = $this->server->search('plain', "round-$round", 400)[200];
        }
        fprintf(STDERR, "Of 400 requests under a limit of 100 pass: %d with the bridge, %d without\n", $exact[200], $passed);
        self::assertContains($exact[200], range(100, 100 + $refilled));
        self::assertSame(400 - $exact[200], $exact[429]);
        self::assertGreaterThan(100, $passed);
        // Without the bridge, requests are limited, too, if they come one after the other.
        self::assertSame([200 => 100, 429 => 20], $this->server->search('plain', 'b', 120, 1));
    }

    public function testExactlyTheLimitOfAQuotaPasses(): void
    {
        $this->server = new ExampleServer();
        do {
            // All requests must belong to one window.
            $hour = intdiv(time(), 3600);
            $passed = $this->server->search('quota', "hour-$hour", 400);
        } while ($hour !== intdiv(time(), 3600));
        self::assertSame([200 => 100, 429 => 300], $passed);
    }

    public function testRequestsContinueUnderTheLocalLimitWhenRedisIsDown(): void
    {
        $redis = RedisServer::start();
        // Redis may reply slowly on a busy machine. This must not count as an outage.
        $this->server = new ExampleServer(['TOKEN_BUCKET_DSN' => "unix://$redis->socket", 'TOKEN_BUCKET_TIMEOUT' => '10']);
        self::assertSame([200 => 100, 429 => 50], $this->server->search('redis', 'before', 150));
        self::assertSame('', $this->server->log());
        $responses = 0;
        $during = $this->server->search('redis', 'during', 300, received: function () use (&$responses, $redis): void {
            if (++$responses === 50) {
                $redis->kill();
            }
        });
        // Redis has granted a part of the limit, and this host's shared memory grants it once more.
        self::assertSame([200, 429], array_keys($during));
        self::assertGreaterThanOrEqual(100, $during[200]);
        self::assertLessThanOrEqual(200, $during[200]);
        self::assertSame([200 => 100, 429 => 50], $this->server->search('redis', 'after', 150));
        self::assertSame(1, substr_count($this->server->log(), "\n"), $this->server->log());
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use RedisServer;
use Web;

require_once __DIR__ . '/Web.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/servers.php';

/** Runs the example application under load. */
#[Group('web')]
final class WebTest extends TestCase
{
    public function testPassesExactlyTheLimitWhereLaravelPassesMore(): void
    {
        $web = new Web();
        $web->page('laravel', '/downloads', ['TOKENBUCKET_ENABLED' => 'false']);
        // Laravel does not lose the race in every round, but the bridge must be exact in each one.
        for ($round = 1, $laravel = 0; $round <= 10 && $laravel <= 100; $round++) {
            // A page of its own, because OPcache may keep the code of a page that has changed.
            $web->page("bridge$round", '/downloads', ['TOKENBUCKET_PREFIX' => "round $round"]);
            $web->forgetCounters();
            $bridge = $web->send("bridge$round", 150);
            $laravel = $web->send('laravel', 150)[200];
            fprintf(STDERR, "8 clients, a limit of 100: %d pass with the bridge, %d without\n", $bridge[200], $laravel);
            $this->assertSame([200 => 100, 429 => 50], $bridge);
        }
        $this->assertGreaterThan(100, $laravel);
    }

    public function testExactlyTheLimitOfAWindowPasses(): void
    {
        $web = new Web();
        do {
            // All requests must belong to one window.
            $day = intdiv(time(), 86400);
            $web->page("day$day", '/downloads', ['TOKENBUCKET_PREFIX' => "day $day", 'TOKENBUCKET_WINDOWS' => 'day']);
            $passed = $web->send("day$day", 150);
        } while ($day !== intdiv(time(), 86400));
        $this->assertSame([200 => 100, 429 => 50], $passed);
    }

    public function testAnOutageOfRedisCausesOneLogLineAndNoError(): void
    {
        $web = new Web();
        $redis = RedisServer::start();
        $settings = [
            'TOKENBUCKET_STORAGE' => "redis://127.0.0.1:$redis->port",
            // Redis may reply slowly on a busy machine. This must not count as an outage.
            'TOKENBUCKET_TIMEOUT' => '10',
            'HTTP_ACCEPT' => 'application/json',
        ];
        foreach (['before', 'during', 'after'] as $name) {
            $web->page($name, '/downloads', $settings + ['TOKENBUCKET_PREFIX' => $name]);
        }
        $this->assertSame([200 => 100, 429 => 50], $web->send('before', 150));
        $this->assertSame('', file_get_contents($web->log));
        $responses = 0;
        $during = $web->send('during', 300, function () use (&$responses, $redis): void {
            if (++$responses === 50) {
                $redis->kill();
            }
        });
        // Redis has granted a part of the limit, and this host's shared memory grants it once more.
        $this->assertSame([200, 429], array_keys($during));
        $this->assertGreaterThanOrEqual(100, $during[200]);
        $this->assertLessThanOrEqual(200, $during[200]);
        $this->assertSame([200 => 100, 429 => 50], $web->send('after', 150));
        $this->assertCount(1, file($web->log), file_get_contents($web->log));
    }
}

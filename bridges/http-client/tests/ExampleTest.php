<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use ExampleSite;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/example_site.php';

/** Tests examples/http-client behind nginx, with eight clients at the same time. */
final class ExampleTest extends TestCase
{
    private const CLIENT = '<?php return new GuzzleHttp\Client();';
    private const HASTY_CLIENT = <<<'PHP'
        <?php
        $stack = GuzzleHttp\HandlerStack::create();
        $storage = new TokenBucketStorageSharedMemory('hasty');
        $stack->push(new TokenBucket\Bridge\HttpClient\Guzzle\RateLimit(fn () => new TokenBucket($storage, 'rates', 10_000, 10_000)));
        return new GuzzleHttp\Client(['handler' => $stack]);
        PHP;

    private PeerServer $server;
    private ExampleSite $site;

    protected function setUp(): void
    {
        $this->server = new PeerServer();
        $this->site = new ExampleSite(['ctype', 'curl', 'mbstring', 'opcache'], ['error_reporting' => (string) (E_ALL & ~E_DEPRECATED)]);
    }

    protected function tearDown(): void
    {
        $this->site->stop();
        $this->server->stop();
    }

    public function testTheServerGetsExactlyTheLimitAndAllRequestsWithoutTheBridge(): void
    {
        $this->page('bridge', dirname(__DIR__, 3) . '/examples/http-client/config/client.php');
        $this->page('plain', $this->site->fpm->script('client', self::CLIENT));
        $this->page('hasty', $this->site->fpm->script('hasty_client', self::HASTY_CLIENT));
        foreach (['bridge', 'plain', 'hasty'] as $page) {
            $answers[$page] = $this->site->send($page, 400);
            $received[$page] = $this->server->requests("/limited/$page");
        }
        fprintf(STDERR, "A server that allows 100 requests gets of 400: %d with the bridge, %d with a bucket that allows too many, %d without\n", $received['bridge'], $received['hasty'], $received['plain']);
        // On a busy machine, the test may take the 36 seconds in which a token is refilled.
        self::assertContains($received['bridge'], [100, 101, 102]);
        self::assertSame(100, $answers['bridge'][200]);
        self::assertSame(300, $answers['bridge'][503]);
        self::assertSame(400, $received['plain']);
        self::assertSame([200 => 100, 503 => 300], $answers['plain']);
        // At most the requests of the other seven workers are in flight when the first 429 arrives.
        self::assertContains($received['hasty'], range(101, 108));
        self::assertSame([200 => 100, 503 => 300], $answers['hasty']);
    }

    private function page(string $name, string $client): void
    {
        $this->site->page($name, dirname(__DIR__, 3) . '/examples/http-client/public/index.php', [
            'APP_AUTOLOAD' => __DIR__ . '/bootstrap.php',
            'APP_CLIENT' => $client,
            'APP_RATES' => "{$this->server->url}/limited/$name?limit=100&after=3600",
        ]);
    }
}

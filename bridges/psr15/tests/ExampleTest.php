<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/example_site.php';

/** Tests examples/psr15 behind nginx, with eight clients at the same time. */
final class ExampleTest extends TestCase
{
    private ExampleSite $site;

    protected function setUp(): void
    {
        $this->site = new ExampleSite(['ctype', 'mbstring', 'opcache']);
    }

    protected function tearDown(): void
    {
        $this->site->stop();
    }

    public function testExactlyTheLimitPassesAndMoreWithTheLimiterOfSymfony(): void
    {
        $this->page('bridge');
        $this->page('plain', ['APP_MIDDLEWARE' => __DIR__ . '/symfonys_limiter.php', 'APP_CACHE_DIR' => $this->site->folder]);
        self::assertSame([200 => 1], $this->send('bridge', 'warm', 1), $this->site->log());
        self::assertSame([200 => 1], $this->send('plain', 'warm', 1), $this->site->log());
        $start = microtime(true);
        $exact = $this->send('bridge', 'a', 400);
        // The bucket refills one of a hundred tokens in 36 seconds.
        $refilled = (int) ((microtime(true) - $start) / 36);
        // Symfony's limiter does not lose the race in every round.
        for ($round = 1, $passed = 0; $round <= 10 && $passed <= 100; $round++) {
            $passed = $this->send('plain', "round-$round", 400)[200];
        }
        fprintf(STDERR, "Of 400 requests under a limit of 100 pass: %d with the bridge, %d without\n", $exact[200], $passed);
        self::assertContains($exact[200], range(100, 100 + $refilled));
        self::assertSame(400 - $exact[200], $exact[429]);
        self::assertGreaterThan(100, $passed);
        // Without the bridge, requests are limited, too, if they come one after the other.
        self::assertSame([200 => 100, 429 => 20], $this->send('plain', 'b', 120, 1));
    }

    /** @param array<string, string> $variables of the application's environment */
    private function page(string $name, array $variables = []): void
    {
        $this->site->page($name, dirname(__DIR__, 3) . '/examples/psr15/public/index.php', $variables + [
            'REQUEST_URI' => '/search',
            'APP_AUTOLOAD' => __DIR__ . '/autoload_example.php',
        ]);
    }

    /** @return array<int, int> the number of responses by status */
    private function send(string $page, string $key, int $requests, int $clients = 8): array
    {
        return $this->site->send("$page?key=$key", $requests, $clients);
    }
}

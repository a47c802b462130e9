<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/examples.php';
require_once __DIR__ . '/../../../tools/testkit/php/fpm.php';
require_once __DIR__ . '/../../../tools/testkit/php/nginx.php';

/** Tests examples/psr15 behind nginx, with eight clients at the same time. */
final class ExampleTest extends TestCase
{
    private Fpm $fpm;
    private Nginx $nginx;
    private string $folder;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-psr15-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
        // The workers run as another user.
        chmod($this->folder, 0777);
        $pool = ['listen.mode' => '0666', 'pm.max_children' => 8];
        $ini = ['error_log' => "$this->folder/php.log", 'display_errors' => '0'];
        $this->fpm = new Fpm(['www' => $pool], $ini, arguments: example_arguments(['ctype', 'mbstring', 'opcache']));
        $this->nginx = new Nginx($this->fpm);
    }

    protected function tearDown(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    public function testExactlyTheLimitPassesAndMoreWithTheLimiterOfSymfony(): void
    {
        $this->page('bridge');
        $this->page('plain', ['APP_MIDDLEWARE' => __DIR__ . '/symfonys_limiter.php', 'APP_CACHE_DIR' => $this->folder]);
        self::assertSame([200 => 1], $this->send('bridge', 'warm', 1), $this->log());
        self::assertSame([200 => 1], $this->send('plain', 'warm', 1), $this->log());
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
        $this->fpm->script($name, '<?php $_SERVER = ' . var_export($variables + [
            // The path of a request selects this script. The application always gets the path of
            // its only page.
            'REQUEST_URI' => '/search',
            'APP_AUTOLOAD' => __DIR__ . '/autoload_example.php',
        ], true) . ' + $_SERVER; require ' . var_export(dirname(__DIR__, 3) . '/examples/psr15/public/index.php', true) . ';');
    }

    /** @return array<int, int> the number of responses by status */
    private function send(string $page, string $key, int $requests, int $clients = 8): array
    {
        return send_requests($this->nginx->port, "/$page?key=$key", $requests, $clients);
    }

    private function log(): string
    {
        return (string) @file_get_contents("$this->folder/php.log");
    }
}

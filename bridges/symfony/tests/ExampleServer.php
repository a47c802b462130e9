<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Fpm;
use Nginx;

require_once __DIR__ . '/../../../testkit/php/examples.php';
require_once __DIR__ . '/../../../testkit/php/fpm.php';
require_once __DIR__ . '/../../../testkit/php/nginx.php';

/** Serves examples/symfony with nginx and php-fpm, with a URL for each of its environments. */
final class ExampleServer
{
    public readonly Fpm $fpm;
    public readonly Nginx $nginx;
    public readonly string $log;
    private readonly string $cache;

    /** @param array<string, string> $variables of the application's environment */
    public function __construct(array $variables = [])
    {
        $this->cache = sys_get_temp_dir() . '/tokenbucket-example-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->cache);
        // The workers run as another user.
        chmod($this->cache, 0777);
        $this->log = "$this->cache/php.log";
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], ['error_log' => $this->log, 'display_errors' => '0'], arguments: example_arguments(['ctype', 'iconv', 'mbstring', 'tokenizer', 'apcu', 'opcache']));
        foreach (['prod', 'redis', 'plain', 'unlimited'] as $environment) {
            $this->fpm->script($environment, '<?php $_SERVER = ' . var_export($variables + [
                'APP_ENV' => $environment,
                // The path selects the script, and the application has one page.
                'REQUEST_URI' => '/',
                'APP_CACHE_DIR' => $this->cache,
                'APP_AUTOLOAD' => __DIR__ . '/autoload_example.php',
            ], true) . ' + $_SERVER; require ' . var_export(dirname(__DIR__, 3) . '/examples/symfony/public/index.php', true) . ';');
        }
        $this->nginx = new Nginx($this->fpm);
    }

    public function stop(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
        exec('rm -rf ' . escapeshellarg($this->cache));
    }

    /**
     * Sends requests from clients that work at the same time.
     *
     * @param ?\Closure(): void $received is called after each response
     * @return array<int, int> the number of responses by status
     */
    public function send(string $environment, string $key, int $requests, int $clients = 8, ?\Closure $received = null): array
    {
        $bodies = [200 => "\nfound\n", 429 => "\nToo many requests\n"];
        return send_requests($this->nginx->port, "/$environment?key=$key", $requests, $clients, function (int $status, string $response) use ($bodies, $received): void {
            if (!isset($bodies[$status]) || !str_ends_with($response, $bodies[$status])) {
                throw new \RuntimeException($response . @file_get_contents($this->log));
            }
            $received?->__invoke();
        });
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Fpm;
use Nginx;

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
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], ['error_log' => $this->log, 'display_errors' => '0'], arguments: self::arguments());
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
     * @return array<int, int> the number of responses by status
     */
    public function send(string $environment, string $key, int $requests, int $clients = 8): array
    {
        $statuses = [];
        $open = [];
        while ($requests > 0 || $open !== []) {
            for (; $requests > 0 && count($open) < $clients; $requests--) {
                $stream = stream_socket_client("tcp://127.0.0.1:{$this->nginx->port}", timeout: 5);
                fwrite($stream, "GET /$environment?key=$key HTTP/1.0\r\nHost: localhost\r\n\r\n");
                $open[] = $stream;
            }
            $ready = $open;
            $none = null;
            stream_select($ready, $none, $none, 30) ?: throw new \RuntimeException('no reply');
            foreach ($ready as $stream) {
                $response = stream_get_contents($stream);
                $status = (int) explode(' ', $response)[1];
                if (!str_ends_with($response, [200 => "\nfound\n", 429 => "\nToo many requests\n"][$status] ?? '')) {
                    throw new \RuntimeException($response);
                }
                $statuses[$status] = ($statuses[$status] ?? 0) + 1;
                unset($open[array_search($stream, $open, true)]);
            }
        }
        ksort($statuses);
        return $statuses;
    }

    /** Returns the arguments of php-fpm: the extensions and the include path of this process. */
    private static function arguments(): string
    {
        $arguments = '-n -d ' . escapeshellarg('include_path=' . get_include_path());
        $folder = getenv('PHP_EXTENSIONS');
        foreach (['ctype', 'iconv', 'mbstring', 'tokenizer', 'apcu', 'opcache'] as $extension) {
            if (is_file("$folder/$extension.so")) {
                $arguments .= ' -d ' . escapeshellarg(($extension === 'opcache' ? 'zend_' : '') . "extension=$folder/$extension.so");
            }
        }
        return $arguments . ' -d ' . escapeshellarg('extension=' . getenv('TOKENBUCKET'));
    }
}

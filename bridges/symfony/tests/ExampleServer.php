<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Fpm;
use Nginx;

require_once __DIR__ . '/../../../tools/testkit/php/examples.php';
require_once __DIR__ . '/../../../tools/testkit/php/fpm.php';
require_once __DIR__ . '/../../../tools/testkit/php/nginx.php';

/** Serves examples/symfony with nginx and php-fpm, with a URL for each of its environments. */
final class ExampleServer
{
    public readonly Fpm $fpm;
    public readonly Nginx $nginx;
    public readonly string $log;
    private readonly string $cache;
    private ?string $autoloader = null;

    /** @param array<string, string> $variables of the application's environment */
    public function __construct(array $variables = [])
    {
        $this->cache = sys_get_temp_dir() . '/tokenbucket-example-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->cache);
        // The workers run as another user.
        chmod($this->cache, 0777);
        $this->log = "$this->cache/php.log";
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], ['error_log' => $this->log, 'display_errors' => '0', 'opcache.file_update_protection' => '0'], arguments: example_arguments(['ctype', 'iconv', 'mbstring', 'tokenizer', 'apcu', 'opcache']));
        foreach (['prod', 'quota', 'redis', 'plain', 'unlimited'] as $environment) {
            $this->fpm->script($environment, '<?php $_SERVER = ' . var_export($variables + [
                'APP_ENV' => $environment,
                // The path of a request selects this script. The application always gets the path
                // of its only page.
                'REQUEST_URI' => '/',
                'APP_CACHE_DIR' => $this->cache,
                'APP_AUTOLOAD' => __DIR__ . '/autoload_example.php',
            ], true) . ' + $_SERVER; require ' . var_export(dirname(__DIR__, 3) . '/examples/symfony/public/index.php', true) . ';');
        }
        $this->nginx = new Nginx($this->fpm);
    }

    /**
     * Returns a server with the autoloader of production, whose limits deny nothing. The
     * environment "plain" keeps Symfony's own classes.
     */
    public static function optimized(): self
    {
        $folder = sys_get_temp_dir() . '/tokenbucket-symfony-autoloader-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($folder);
        chmod($folder, 0755);
        $root = dirname(__DIR__, 3);
        file_put_contents("$folder/composer.json", json_encode(['autoload' => ['psr-4' => [
            'App\\' => "$root/examples/symfony/src",
            'TokenBucket\\Bridge\\Symfony\\' => "$root/bridges/symfony/src",
        ]]]));
        optimize_autoloader($folder, 'Symfony/Bundle/FrameworkBundle/autoload.php');
        $require = fn (string $file): string => 'require ' . var_export($file, true) . ";\n";
        file_put_contents("$folder/autoload.php", "<?php\n" . $require(__DIR__ . '/installed_versions.php') . $require("$folder/vendor/autoload.php")
            . 'if ($_SERVER["APP_ENV"] !== "plain") ' . $require("$root/bridges/symfony/src/replace_classes.php"));
        $server = new self(['APP_AUTOLOAD' => "$folder/autoload.php", 'SEARCH_LIMIT' => '1000000000']);
        $server->autoloader = $folder;
        return $server;
    }

    public function stop(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
        exec('rm -rf ' . escapeshellarg($this->cache) . ($this->autoloader === null ? '' : ' ' . escapeshellarg($this->autoloader)));
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

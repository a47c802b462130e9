<?php

declare(strict_types=1);

require_once dirname(__DIR__, 3) . '/tools/testkit/php/examples.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/nginx.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/fpm.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/strace.php';

/** The example application behind an nginx and a php-fpm of its own. */
final class Web
{
    private const EXTENSIONS = ['ctype', 'mbstring', 'tokenizer', 'igbinary', 'redis', 'opcache'];

    public readonly string $folder;
    public readonly string $log;
    private readonly Fpm $fpm;
    private readonly Nginx $nginx;

    public function __construct()
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-laravel-web-' . getmypid() . '-' . bin2hex(random_bytes(4));
        install_application($this->folder);
        register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($this->folder)));
        $this->log = "$this->folder/php.log";
        touch($this->log);
        chmod($this->log, 0666);
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], arguments: example_arguments(self::EXTENSIONS, ['error_log' => $this->log, 'opcache.enable' => '1', 'opcache.file_update_protection' => '0', 'display_errors' => '0']));
        $this->nginx = new Nginx($this->fpm);
    }

    /** Returns the application with the autoloader of production. */
    public static function optimized(): self
    {
        $web = new self();
        optimize_autoloader($web->folder, 'Illuminate/autoload.php');
        return $web;
    }

    /** Returns the number of system calls of a request. */
    public function systemCalls(string $page): int
    {
        return count_calls($this->fpm->workers(), 40, fn () => $this->send($page, 40));
    }

    /**
     * Adds a page that requests a path of the application in an environment.
     *
     * @param array<string, string> $environment
     */
    public function page(string $name, string $path, array $environment): void
    {
        $this->fpm->script($name, '<?php $_SERVER = ' . var_export(['REQUEST_URI' => $path] + $environment, true)
            . ' + $_SERVER; require ' . var_export("$this->folder/public/index.php", true) . ';');
    }

    /**
     * Caches the configuration of a page, as a deployment does with artisan.
     *
     * @param array<string, string> $environment
     * @return array<string, string> the environment in which the page uses the cached configuration
     */
    public function cacheConfiguration(string $name, array $environment): array
    {
        $environment['APP_CONFIG_CACHE'] = "$this->folder/bootstrap/cache/$name.php";
        $variables = array_map(fn (string $variable, string $value) => escapeshellarg("$variable=$value"), array_keys($environment), $environment);
        exec('env ' . implode(' ', $variables) . ' ' . escapeshellarg(PHP_BINARY) . ' ' . example_arguments([...self::EXTENSIONS, 'dom'])
            . ' ' . escapeshellarg("$this->folder/artisan") . ' config:cache 2>&1', $output, $code);
        $code === 0 || throw new RuntimeException(implode("\n", $output));
        return $environment;
    }

    /** Removes Laravel's counters, which are files. */
    public function forgetCounters(): void
    {
        exec('rm -rf ' . escapeshellarg($this->folder) . '/storage/framework/cache/*');
    }

    /**
     * Sends requests from 8 clients that work at the same time, and counts the replies.
     *
     * @param ?Closure(): void $received is called after each response
     * @return array<int, int> the number of responses by status
     */
    public function send(string $page, int $requests, ?Closure $received = null): array
    {
        return send_requests($this->nginx->port, "/$page", $requests, received: $received);
    }
}

<?php

declare(strict_types=1);

require_once dirname(__DIR__, 3) . '/testkit/php/nginx.php';
require_once dirname(__DIR__, 3) . '/testkit/php/fpm.php';

/** The example application behind an nginx and a php-fpm of its own. */
final class Web
{
    private const EXTENSIONS = ['ctype', 'mbstring', 'tokenizer', 'igbinary', 'redis'];

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
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], arguments: $this->arguments());
        $this->nginx = new Nginx($this->fpm);
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

    /** Removes Laravel's counters, which are files. */
    public function forgetCounters(): void
    {
        exec('rm -rf ' . escapeshellarg($this->folder) . '/storage/framework/cache/*');
    }

    /** Returns the status of one request. */
    public function status(string $page): int
    {
        $context = stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 10, 'header' => 'Accept: application/json']]);
        file_get_contents("http://127.0.0.1:{$this->nginx->port}/$page", false, $context);
        return (int) explode(' ', $http_response_header[0])[1];
    }

    /**
     * @return array{passed: int, denied: int, per_second: float, cpu: float} the answers to 8
     * concurrent clients, and the seconds of CPU time that the workers used
     */
    public function load(string $page, int $requests): array
    {
        $before = $this->cpu();
        exec("ab -q -l -k -n $requests -c 8 -H 'Accept: application/json' http://127.0.0.1:{$this->nginx->port}/$page 2>&1", $lines);
        $output = implode("\n", $lines);
        $number = fn (string $name): float => preg_match("/^$name:\s+([\d.]+)/m", $output, $found) ? (float) $found[1] : 0.0;
        if ((int) $number('Complete requests') !== $requests || $number('Failed requests') > 0) {
            throw new RuntimeException($output);
        }
        $denied = (int) $number('Non-2xx responses');
        $cpu = $this->cpu() - $before;
        return ['passed' => $requests - $denied, 'denied' => $denied, 'per_second' => $number('Requests per second'), 'cpu' => $cpu];
    }

    private function cpu(): float
    {
        $ticks = 0;
        foreach ($this->fpm->workers() as $worker) {
            $fields = explode(' ', preg_replace('/.*\) /s', '', file_get_contents("/proc/$worker/stat")));
            $ticks += (int) $fields[11] + (int) $fields[12];
        }
        return $ticks / 100;
    }

    private function arguments(): string
    {
        $extensions = getenv('PHP_EXTENSIONS');
        $settings = ['include_path=' . get_include_path(), "error_log=$this->log", 'opcache.enable=1', 'display_errors=0'];
        foreach (self::EXTENSIONS as $name) {
            // In other builds of PHP, an extension may be part of the program.
            if (is_file("$extensions/$name.so")) {
                $settings[] = "extension=$extensions/$name.so";
            }
        }
        $settings[] = "zend_extension=$extensions/opcache.so";
        $settings[] = 'extension=' . getenv('TOKENBUCKET');
        return '-n ' . implode(' ', array_map(fn (string $setting) => '-d ' . escapeshellarg($setting), $settings));
    }
}

<?php

declare(strict_types=1);

require_once dirname(__DIR__, 3) . '/tools/testkit/php/example_site.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/strace.php';

/** Serves the example application, which has a page for each path and environment. */
final class Web extends ExampleSite
{
    private const EXTENSIONS = ['ctype', 'mbstring', 'tokenizer', 'igbinary', 'redis', 'opcache'];

    public function __construct()
    {
        parent::__construct(self::EXTENSIONS);
        install_application($this->folder);
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
    public function path(string $name, string $path, array $environment): void
    {
        $this->page($name, "$this->folder/public/index.php", ['REQUEST_URI' => $path] + $environment);
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
}

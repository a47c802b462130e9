<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use ExampleSite;

require_once __DIR__ . '/../../../tools/testkit/php/example_site.php';

/** Serves examples/symfony, with a page for each of its environments. */
final class ExampleServer extends ExampleSite
{
    /**
     * @param array<string, string> $variables of the application's environment
     * @param bool $isOptimized true for the autoloader of production. The environment "plain" keeps
     *     Symfony's own classes
     */
    public function __construct(array $variables = [], bool $isOptimized = false)
    {
        parent::__construct(['ctype', 'iconv', 'mbstring', 'tokenizer', 'apcu', 'opcache']);
        $autoloader = $isOptimized ? $this->optimizedAutoloader() : __DIR__ . '/autoload_example.php';
        foreach (['prod', 'quota', 'redis', 'plain', 'unlimited'] as $environment) {
            $this->page($environment, dirname(__DIR__, 3) . '/examples/symfony/public/index.php', $variables + [
                'APP_ENV' => $environment,
                'REQUEST_URI' => '/',
                'APP_CACHE_DIR' => $this->folder,
                'APP_AUTOLOAD' => $autoloader,
            ]);
        }
    }

    /** Returns the file of the autoloader. */
    private function optimizedAutoloader(): string
    {
        $folder = "$this->folder/autoloader";
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
        return "$folder/autoload.php";
    }

    /**
     * Sends requests with a key from clients that work at the same time, and checks each body.
     *
     * @param ?\Closure(): void $received is called after each response
     * @return array<int, int> the number of responses by status
     */
    public function search(string $environment, string $key, int $requests, int $clients = 8, ?\Closure $received = null): array
    {
        $bodies = [200 => "\nfound\n", 429 => "\nToo many requests\n"];
        return $this->send("$environment?key=$key", $requests, $clients, function (int $status, string $response) use ($bodies, $received): void {
            if (!isset($bodies[$status]) || !str_ends_with($response, $bodies[$status])) {
                throw new \RuntimeException($response . $this->log());
            }
            $received?->__invoke();
        });
    }
}

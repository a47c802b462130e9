<?php
require_once __DIR__ . '/examples.php';
require_once __DIR__ . '/fpm.php';
require_once __DIR__ . '/nginx.php';

/** Pages of an application of examples/, behind nginx and a php-fpm with eight workers. */
class ExampleSite
{
    /** A folder into which the workers may write. */
    public readonly string $folder;
    public readonly Fpm $fpm;
    private readonly Nginx $nginx;

    /**
     * @param list<string> $extensions of PHP
     * @param array<string, string> $ini settings of PHP
     */
    public function __construct(array $extensions, array $ini = [])
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-example-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
        // The workers run as another user.
        chmod($this->folder, 0777);
        register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($this->folder)));
        $ini += ['error_log' => "$this->folder/php.log", 'display_errors' => '0', 'opcache.file_update_protection' => '0'];
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], $ini, arguments: example_arguments($extensions));
        $this->nginx = new Nginx($this->fpm);
    }

    public function stop(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
    }

    /** Returns the messages of PHP. */
    public function log(): string
    {
        return (string) @file_get_contents("$this->folder/php.log");
    }

    /**
     * Adds a page that runs a script. The path of a request selects the page, so the variables
     * state the path that the application gets.
     *
     * @param array<string, string> $variables of the application's environment
     */
    public function page(string $name, string $script, array $variables): void
    {
        $this->fpm->script($name, '<?php $_SERVER = ' . var_export($variables, true) . ' + $_SERVER; require ' . var_export($script, true) . ';');
    }

    /**
     * Sends requests for a page from clients that work at the same time.
     *
     * @param string $target the name of the page, and a query
     * @param ?Closure(int, string): void $received is called with each status and response
     * @return array<int, int> the number of responses by status
     */
    public function send(string $target, int $requests, int $clients = 8, ?Closure $received = null): array
    {
        return send_requests($this->nginx->port, "/$target", $requests, $clients, $received);
    }
}

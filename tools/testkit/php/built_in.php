<?php
require_once __DIR__ . '/child.php';
require_once __DIR__ . '/server_process.php';

/**
 * PHP's own web server in one process, which runs one script for each request. With several
 * scripts, the path of a request chooses the script. If no script has this path, index.php runs.
 */
final class BuiltInServer extends ServerProcess
{
    /**
     * @param array<string, string> $ini settings, added to those of the test
     * @param string|array<string, string> $script the code of the script, or of scripts by name
     * @param ?string $root the folder of the scripts, or null for a new one
     */
    public function __construct(private readonly array $ini, private readonly string|array $script = [], private readonly ?string $root = null)
    {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        foreach (is_array($this->script) ? $this->script : ['script' => $this->script] as $name => $code) {
            file_put_contents("$this->folder/$name.php", $code);
        }
        $what = is_array($this->script) ? '-t ' . escapeshellarg($this->root ?? $this->folder) : "$this->folder/script.php";
        // The test's settings are arguments for a shell.
        return ['sh', '-c', 'exec ' . php_command($this->ini) . " -S 127.0.0.1:$port $what"];
    }

    protected function answers(int $port): bool
    {
        return str_contains(file_get_contents("$this->folder/log"), "(http://127.0.0.1:$port) started");
    }
}

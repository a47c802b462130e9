<?php
require_once __DIR__ . '/child.php';
require_once __DIR__ . '/server_process.php';

/** PHP's own web server in one process, which runs one script for each request. */
final class BuiltInServer extends ServerProcess
{
    /** @param array<string, string> $ini settings, added to those of the test */
    public function __construct(private readonly array $ini, private readonly string $script)
    {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/script.php", $this->script);
        // The test's settings are arguments for a shell.
        return ['sh', '-c', 'exec ' . php_command($this->ini) . " -S 127.0.0.1:$port $this->folder/script.php"];
    }

    protected function answers(int $port): bool
    {
        $stream = @fsockopen('127.0.0.1', $port, timeout: 5);
        return $stream !== false && fclose($stream);
    }
}

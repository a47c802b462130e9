<?php
require_once __DIR__ . '/fpm.php';
require_once __DIR__ . '/php_cgi.php';
require_once __DIR__ . '/server_process.php';

/**
 * A lighttpd that starts php-cgi. Each of $parents processes has $children processes, which serve
 * requests.
 */
final class Lighttpd extends ServerProcess
{
    protected const PLACES = 2;

    /** @param array<string, string> $ini settings, added to those of the test */
    public function __construct(private readonly int $parents, private readonly int $children, private readonly array $ini)
    {
        parent::__construct(true, '');
    }

    /** Adds a script, and returns its path in URLs. */
    public function script(string $name, string $code): string
    {
        file_put_contents("$this->folder/$name.php", $code);
        return "/$name.php";
    }

    /** Returns the output of the script, or null if its process died. */
    public function get(string $script, array $query = []): ?string
    {
        $context = stream_context_create(['http' => ['timeout' => 30, 'ignore_errors' => true]]);
        $output = @file_get_contents("http://127.0.0.1:$this->port$script?" . http_build_query($query), false, $context);
        return $output === false ? null : $output;
    }

    /** Also kills the processes of php-cgi. Parents of others lead process groups of their own. */
    public function kill(): void
    {
        $groups = array_map(fn (int $child) => " -$child", $this->pid === 0 ? [] : Fpm::children($this->pid));
        parent::kill();
        $groups === [] || exec('kill -9' . implode($groups) . ' 2>/dev/null');
        // The process id may become that of another process.
        $this->pid = 0;
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/ping", $this->folder);
        write_php_cgi($this->folder, $this->ini);
        file_put_contents("$this->folder/lighttpd.conf", <<<CONF
            server.modules = ("mod_fastcgi")
            server.bind = "127.0.0.1"
            server.port = $port
            server.document-root = "$this->folder"
            server.errorlog = "$this->folder/errors.log"
            fastcgi.server = (".php" => ((
                "bin-path" => "$this->folder/php-cgi",
                "socket" => "$this->folder/php.socket",
                "max-procs" => $this->parents,
                "bin-environment" => ("PHP_FCGI_CHILDREN" => "$this->children"),
            )))
            CONF);
        return ['/usr/sbin/lighttpd', '-D', '-f', "$this->folder/lighttpd.conf"];
    }

    protected function answers(int $port): bool
    {
        $context = stream_context_create(['http' => ['timeout' => 5]]);
        return @file_get_contents("http://127.0.0.1:$port/ping", false, $context) === $this->folder;
    }
}

<?php
require_once __DIR__ . '/server_process.php';

/** An nginx in one process that passes /script, and /script.php, to that script of a php-fpm. */
final class Nginx extends ServerProcess
{
    /**
     * @param string $directives directives of the server, which precede the locations
     * @param array<string, string> $variables variables of nginx by their names in PHP, which are
     *        passed in addition
     * @param string $http directives in front of the server, with %s for the folder of this nginx
     */
    public function __construct(
        private readonly Fpm $fpm,
        private readonly string $directives = '',
        private readonly array $variables = [],
        private readonly string $http = '',
    ) {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/nginx.conf", $this->configuration($port));
        return ['nginx', '-p', $this->folder, '-e', 'stderr', '-c', "$this->folder/nginx.conf"];
    }

    protected function answers(int $port): bool
    {
        $context = stream_context_create(['http' => ['timeout' => 5]]);
        return @file_get_contents("http://127.0.0.1:$port/ping", false, $context) === $this->folder;
    }

    private function configuration(int $port): string
    {
        $temporary = str_replace('%s', $this->folder, "    $this->http\n");
        foreach (['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'] as $of) {
            $temporary .= "    {$of}_temp_path $this->folder/$of;\n";
        }
        $pass = "fastcgi_pass unix:{$this->fpm->folder}/www.sock;";
        $variables = $this->variables + [
            'REQUEST_METHOD' => 'request_method', 'QUERY_STRING' => 'query_string', 'REQUEST_URI' => 'request_uri',
            'SCRIPT_NAME' => 'uri', 'SERVER_NAME' => 'server_name', 'REMOTE_ADDR' => 'remote_addr',
            'CONTENT_TYPE' => 'content_type', 'CONTENT_LENGTH' => 'content_length',
        ];
        foreach ($variables as $name => $variable) {
            $pass .= " fastcgi_param $name \$$variable;";
        }
        return <<<CONF
            daemon off;
            # One process, that is stopped by its id.
            master_process off;
            pid $this->folder/nginx.pid;
            events { worker_connections 256; }
            http {
                access_log off;
            $temporary
                server {
                    listen 127.0.0.1:$port;
                    keepalive_requests 1000000;
                    $this->directives
                    location = /ping { return 200 "$this->folder"; }
                    location / {
                        $pass
                        fastcgi_param SCRIPT_FILENAME {$this->fpm->folder}\$uri.php;
                    }
                    # As in many configurations, the path is not split into the script and the rest.
                    location ~ [.]php$ {
                        $pass
                        fastcgi_param SCRIPT_FILENAME {$this->fpm->folder}\$uri;
                    }
                }
            }
            CONF;
    }
}

<?php
require_once __DIR__ . '/server_process.php';

/** An nginx in one process that passes /pool/script to that script in that pool of a php-fpm. */
final class Nginx extends ServerProcess
{
    public function __construct(private readonly Fpm $fpm)
    {
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
        $temporary = '';
        foreach (['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'] as $of) {
            $temporary .= "    {$of}_temp_path $this->folder/$of;\n";
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
                    location = /ping { return 200 "$this->folder"; }
                    location / {
                        fastcgi_pass unix:{$this->fpm->folder}/www.sock;
                        fastcgi_param SCRIPT_FILENAME {$this->fpm->folder}\$uri.php;
                        fastcgi_param REQUEST_METHOD \$request_method;
                        fastcgi_param QUERY_STRING \$query_string;
                        fastcgi_param REQUEST_URI \$request_uri;
                        fastcgi_param SCRIPT_NAME \$uri;
                        fastcgi_param SERVER_NAME \$server_name;
                        fastcgi_param REMOTE_ADDR \$remote_addr;
                    }
                }
            }
            CONF;
    }
}

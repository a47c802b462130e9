<?php
require_once __DIR__ . '/clients.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/apache.php';
require_once __DIR__ . '/../../tools/testkit/php/built_in.php';
require_once __DIR__ . '/../../tools/testkit/php/http.php';
require_once __DIR__ . '/../../tools/testkit/php/nginx.php';

/** Returns the directives that load modules of Apache. */
function apache_modules(string ...$names): array
{
    $modules = [];
    foreach ($names as $name) {
        $modules["LoadModule {$name}_module"] = "/usr/lib/apache2/modules/mod_$name.so";
    }
    return $modules;
}

/**
 * Starts each kind of web server with these settings and scripts, and passes its name and port to
 * $test. The servers run login.php also for /s1/login.php, and index.php for all other paths.
 *
 * @param array<string, string> $ini
 * @param array<string, string> $scripts code by name
 */
function with_web_servers(array $ini, array $scripts, callable $test, string ...$only): void
{
    $rewritten = [
        'RewriteEngine' => 'On', 'RewriteRule ^/s[0-9]+/(.*)$' => '/$1', "RewriteCond %{REQUEST_URI}" => '!(\.php|^/ping$|^/php-cgi)',
        'RewriteRule ^' => '/index.php',
    ];
    $fpm_of = fn () => new Fpm(['www' => ['listen.mode' => '0666']], $ini);
    $apache_of = function (bool $cgi, array $directives, array $ini) use ($scripts, $rewritten): Apache {
        $apache = new Apache($cgi, directives: apache_modules('rewrite') + $directives + $rewritten, ini: $ini);
        array_map($apache->script(...), array_keys($scripts), $scripts);
        return $apache;
    };
    $servers = [
        'nginx and php-fpm' => function () use ($scripts, $fpm_of): array {
            $fpm = $fpm_of();
            array_map($fpm->script(...), array_keys($scripts), $scripts);
            $nginx = new Nginx($fpm, 'rewrite ^/s[0-9]+(/.*)$ $1; if ($uri !~ "[.]php|^/ping$") { rewrite ^ /index.php last; }');
            return [$nginx->port, fn () => [$nginx->kill(), $fpm->stop()]];
        },
        'Apache and php-fpm' => function () use ($fpm_of, $apache_of): array {
            $fpm = $fpm_of();
            $handler = ['<LocationMatch ^/(?!ping$)>' => '', 'SetHandler' => "\"proxy:unix:$fpm->folder/www.sock|fcgi://localhost/\"", '</LocationMatch>' => ''];
            $apache = $apache_of(false, apache_modules('proxy', 'proxy_fcgi') + $handler, []);
            return [$apache->port, fn () => [$apache->kill(), $fpm->stop()]];
        },
        'mod_php' => function () use ($ini, $apache_of): array {
            $apache = $apache_of(false, [], $ini);
            return [$apache->port, $apache->kill(...)];
        },
        'php-cgi' => function () use ($ini, $apache_of): array {
            // The processes of php-cgi share a named segment.
            $apache = $apache_of(true, [], $ini + ['tokenbucket.shm_path' => segment_path()]);
            return [$apache->port, $apache->kill(...)];
        },
        'PHP\'s own web server' => function () use ($ini, $scripts): array {
            $server = new BuiltInServer($ini, $scripts);
            return [$server->port, $server->kill(...)];
        },
    ];
    foreach (array_filter($servers, fn (string $name) => $only === [] || in_array($name, $only, true), ARRAY_FILTER_USE_KEY) as $name => $start) {
        [$port, $stop] = $start();
        $test($name, $port);
        $stop();
    }
}

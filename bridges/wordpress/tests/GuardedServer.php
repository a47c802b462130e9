<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use Apache;
use BuiltInServer;
use Fpm;

require_once __DIR__ . '/../../../tools/testkit/php/apache.php';
require_once __DIR__ . '/../../../tools/testkit/php/built_in.php';
require_once __DIR__ . '/Site.php';

/** A web server with the guard that serves a site instead of its own nginx, until it is stopped. */
final class GuardedServer
{
    public const NGINX = 'nginx and php-fpm';
    public const ALL = [self::NGINX, 'Apache and php-fpm', 'mod_php', 'php-cgi', 'PHP\'s own web server'];

    /** Modules of Apache, as directives. */
    private const MODULES = [
        'LoadModule dir_module' => '/usr/lib/apache2/modules/mod_dir.so',
        'LoadModule rewrite_module' => '/usr/lib/apache2/modules/mod_rewrite.so',
        'LoadModule proxy_module' => '/usr/lib/apache2/modules/mod_proxy.so',
        'LoadModule proxy_fcgi_module' => '/usr/lib/apache2/modules/mod_proxy_fcgi.so',
    ];
    private const DIRECTIVES = ['DirectoryIndex' => 'index.php', '<Directory />' => '', 'AllowOverride' => 'All', '</Directory>' => ''];
    /** The file .htaccess of a network of sites, from WordPress' documentation. */
    private const HTACCESS = <<<'TEXT'
        RewriteEngine On
        RewriteBase /
        RewriteRule ^index\.php$ - [L]
        RewriteRule ^([_0-9a-zA-Z-]+/)?wp-admin$ $1wp-admin/ [R=301,L]
        RewriteCond %{REQUEST_FILENAME} -f [OR]
        RewriteCond %{REQUEST_FILENAME} -d
        RewriteRule ^ - [L]
        RewriteRule ^([_0-9a-zA-Z-]+/)?(wp-(content|admin|includes).*) $2 [L]
        RewriteRule ^([_0-9a-zA-Z-]+/)?(.*\.php)$ $2 [L]
        RewriteRule . index.php [L]
        TEXT;

    private readonly array $stops;

    /** @param array<string, string> $ini settings of PHP */
    public function __construct(private readonly Site $site, string $name, array $ini)
    {
        // Apache and PHP's own web server take the settings of PHP from this variable, as in a test
        // of the extension.
        putenv('TEST_PHP_EXTRA_ARGS=' . strtr(example_arguments(Site::EXTENSIONS), "'", '"'));
        file_put_contents("$site->folder/site/.htaccess", self::HTACCESS);
        $apache = fn (bool $cgi, array $directives, array $ini) => new Apache($cgi, self::MODULES + $directives + self::DIRECTIVES, $site->ini($ini), "$site->folder/site");
        $processes = match ($name) {
            self::NGINX => [$fpm = $site->fpm($ini), $site->nginx($fpm)],
            'Apache and php-fpm' => [$fpm = $site->fpm($ini), $apache(false, self::handler($fpm), [])],
            'mod_php' => [$apache(false, [], $ini)],
            // Its processes share a named segment.
            'php-cgi' => [$apache(true, [], $ini + ['tokenbucket.shm_path' => "$site->folder/counters/segment"])],
            'PHP\'s own web server' => [new BuiltInServer($site->ini($ini), root: "$site->folder/site")],
        };
        $site->port = end($processes)->port;
        $this->stops = array_map(fn (object $process) => $process instanceof Fpm ? $process->stop(...) : $process->kill(...), array_reverse($processes));
    }

    public function stop(): void
    {
        foreach ($this->stops as $stop) {
            $stop();
        }
        $this->site->port = $this->site->nginx->port;
        putenv('TEST_PHP_EXTRA_ARGS');
    }

    /** Returns the directives that pass scripts to a php-fpm. */
    private static function handler(Fpm $fpm): array
    {
        return ['<LocationMatch \.php>' => '', 'SetHandler' => "\"proxy:unix:$fpm->folder/www.sock|fcgi://localhost\"", '</LocationMatch>' => ''];
    }
}

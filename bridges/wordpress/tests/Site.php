<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use Fpm;
use MariaDbServer;
use Nginx;

require_once __DIR__ . '/../../../tools/testkit/php/examples.php';
require_once __DIR__ . '/../../../tools/testkit/php/fpm.php';
require_once __DIR__ . '/../../../tools/testkit/php/nginx.php';
require_once __DIR__ . '/../../../tools/testkit/php/sql_servers.php';

/**
 * A new WordPress on MariaDB, php-fpm and nginx, with the plugin as a must-use plugin unless the
 * settings have the constant WITHOUT_PLUGIN.
 */
final class Site
{
    public const EXTENSIONS = ['mysqlnd', 'mysqli', 'mbstring', 'ctype', 'tokenizer', 'dom', 'xml', 'opcache'];

    public readonly string $folder;
    private readonly MariaDbServer $database;
    private readonly Fpm $fpm;
    private ?string $host = null;
    public readonly Nginx $nginx;
    /** The port of the server that gets the requests. */
    public int $port;

    /**
     * @param string $settings lines of PHP for wp-config.php
     * @param array<string, string> $ini settings of PHP
     */
    public function __construct(string $settings = '', array $ini = [])
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-wordpress-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir("$this->folder/counters", 0777, true);
        chmod("$this->folder/counters", 0777);
        register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($this->folder)));
        $wordpress = dirname(explode(PATH_SEPARATOR, get_include_path())[0]) . '/wordpress';
        exec('cp -rL ' . escapeshellarg($wordpress) . ' ' . escapeshellarg("$this->folder/site") . ' 2>&1', $output, $code);
        mkdir("$this->folder/site/wp-content/mu-plugins");
        copy(__DIR__ . '/counted.php', "$this->folder/site/wp-content/mu-plugins/counted.php");
        chmod("$this->folder/site/wp-content/mu-plugins/counted.php", 0644);
        $this->database = MariaDbServer::start();
        file_put_contents("$this->folder/site/wp-config.php", $this->configuration($settings));
        file_put_contents("$this->folder/site/run.php", '<?php require __DIR__ . "/wp-load.php"; header("Content-Type: application/json"); echo json_encode((function () { return eval(file_get_contents("php://input")); })());');
        file_put_contents("$this->folder/site/create.php", <<<'PHP'
            <?php
            define('WP_INSTALLING', true);
            require __DIR__ . '/wp-load.php';
            require ABSPATH . 'wp-admin/includes/upgrade.php';
            // No mail is sent.
            function wp_mail() { return true; }
            wp_install('Site', 'owner', 'owner@example.com', true, '', 'right password');
            echo 'created';
            PHP);
        $this->fpm = $this->fpm($ini);
        $this->nginx = $this->nginx($this->fpm);
        $this->port = $this->nginx->port;
        $created = $this->send([['path' => '/create.php']])[0];
        $created['body'] === 'created' || throw new \RuntimeException($created['body'] . $this->errors());
    }

    public function stop(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
        $this->database->kill();
    }

    /** Returns a php-fpm that runs the site with these settings. */
    public function fpm(array $ini): Fpm
    {
        return new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], $this->ini($ini), arguments: example_arguments(self::EXTENSIONS));
    }

    /** Returns an nginx that passes the requests of the site to a php-fpm. */
    public function nginx(Fpm $fpm): Nginx
    {
        return new Nginx($fpm, $this->directives($fpm));
    }

    /** Returns the settings of PHP for the site, with these added. */
    public function ini(array $ini): array
    {
        return ['display_errors' => '0', 'log_errors' => '1', 'error_log' => "$this->folder/counters/errors", 'opcache.revalidate_freq' => '0'] + $ini;
    }

    /** Returns the messages of PHP. */
    public function errors(): string
    {
        return (string) @file_get_contents("$this->folder/counters/errors");
    }

    /** Returns the number of verified passwords, or of mails, since the last call. */
    public function count(string $what = 'verified'): int
    {
        $file = "$this->folder/counters/$what";
        clearstatcache();
        $count = is_file($file) ? filesize($file) : 0;
        @unlink($file);
        return $count;
    }

    /** Creates a user with the password "right password", and returns the id. */
    public function addUser(string $name, string $email = ''): int
    {
        return $this->run('return wp_create_user(' . var_export($name, true) . ', "right password", ' . var_export($email ?: "$name@example.com", true) . ');');
    }

    /** Creates an application password. */
    public function addApplicationPassword(int $user): string
    {
        return $this->run("return WP_Application_Passwords::create_new_application_password($user, ['name' => 'test'])[0];");
    }

    /** Runs code in WordPress, and returns its value as JSON keeps it. */
    public function run(string $code): mixed
    {
        $response = $this->send([['path' => '/run.php', 'body' => $code]])[0];
        $response['status'] === 200 || throw new \RuntimeException($response['body'] . $this->errors());
        return json_decode($response['body'], true, flags: JSON_THROW_ON_ERROR);
    }

    /** Logs a user in, and returns the cookies. */
    public function logIn(string $name, string $address, ?string $host = null): string
    {
        [$response] = $this->send([['host' => $host] + self::form($name, 'right password', $address)]);
        preg_match_all('/^Set-Cookie: ([^=]+=[^;\r\n]+)/mi', $response['head'], $cookies);
        return implode('; ', $cookies[1]);
    }

    /** Turns the site into a network of sites at http://localhost/. */
    public function makeNetwork(): void
    {
        $this->run(<<<'PHP'
            global $wpdb;
            require ABSPATH . 'wp-admin/includes/upgrade.php';
            foreach ($wpdb->tables('ms_global') as $table => $name) {
                $wpdb->$table = $name;
            }
            install_network();
            populate_network(1, 'localhost', 'owner@example.com', 'Network', '/', false);
            PHP);
        $file = "$this->folder/site/wp-config.php";
        file_put_contents($file, str_replace("define('DB_NAME'", <<<'PHP'
            const MULTISITE = true;
            const SUBDOMAIN_INSTALL = false;
            const DOMAIN_CURRENT_SITE = 'localhost';
            const PATH_CURRENT_SITE = '/';
            const SITE_ID_CURRENT_SITE = 1;
            const BLOG_ID_CURRENT_SITE = 1;
            define('DB_NAME'
            PHP, file_get_contents($file)));
        $this->host = 'localhost';
    }

    /** Returns a request of the login form. */
    public static function form(string $name, string $password, string $address = '192.0.2.1', array $lines = []): array
    {
        return ['path' => '/wp-login.php', 'body' => http_build_query(['log' => $name, 'pwd' => $password]), 'address' => $address, 'lines' => $lines];
    }

    /** Returns a request of XML-RPC. */
    public static function xmlRpc(string $name, string $password, string $address = '192.0.2.1', array $lines = []): array
    {
        return ['path' => '/xmlrpc.php', 'body' => '<?xml version="1.0"?>' . self::call('wp.getUsersBlogs', self::strings($name, $password)), 'address' => $address, 'lines' => [...$lines, 'Content-Type: text/xml']];
    }

    /** Returns a request of XML-RPC that comments the first post. */
    public static function xmlRpcComment(string $name, string $comment, string $address): array
    {
        $content = "<param><value><struct><member><name>content</name><value><string>$comment</string></value></member></struct></value></param>";
        $call = self::call('wp.newComment', self::strings('1', $name, 'right password', '1') . $content);
        return ['path' => '/xmlrpc.php', 'body' => '<?xml version="1.0"?>' . $call, 'address' => $address, 'lines' => ['Content-Type: text/xml']];
    }

    /** Returns a request of XML-RPC with several guesses. */
    public static function multicall(string $name, array $passwords, string $address = '192.0.2.1', array $lines = []): array
    {
        $calls = '';
        foreach ($passwords as $password) {
            $values = "<value><string>$name</string></value><value><string>$password</string></value>";
            $calls .= "<value><struct><member><name>methodName</name><value><string>wp.getUsersBlogs</string></value></member><member><name>params</name><value><array><data>$values</data></array></value></member></struct></value>";
        }
        return ['path' => '/xmlrpc.php', 'body' => '<?xml version="1.0"?>' . self::call('system.multicall', "<param><value><array><data>$calls</data></array></value></param>"), 'address' => $address, 'lines' => [...$lines, 'Content-Type: text/xml']];
    }

    /** Returns a request of the REST API with an application password. */
    public static function rest(string $name, string $password, string $address = '192.0.2.1', array $lines = []): array
    {
        return ['path' => '/index.php?rest_route=/wp/v2/users/me', 'address' => $address, 'lines' => [...$lines, 'Authorization: Basic ' . base64_encode("$name:$password")]];
    }

    /**
     * Sends requests from eight clients at the same time.
     *
     * @param array<array{path: string, method?: string, host?: string, body?: string, address?: string, lines?: list<string>}> $requests
     * @return array<array{status: int, head: string, body: string}> in the order of the keys
     */
    public function send(array $requests): array
    {
        $clients = curl_multi_init();
        $waiting = array_keys($requests);
        $open = $responses = [];
        while ($waiting !== [] || $open !== []) {
            while ($waiting !== [] && count($open) < 8) {
                $i = array_shift($waiting);
                $open[$i] = $this->client($requests[$i]);
                curl_multi_add_handle($clients, $open[$i]);
            }
            curl_multi_exec($clients, $running);
            curl_multi_select($clients, 1);
            while ($done = curl_multi_info_read($clients)) {
                $i = array_search($done['handle'], $open, true);
                [$head, $body] = explode("\r\n\r\n", (string) curl_multi_getcontent($done['handle']), 2) + [1 => ''];
                $responses[$i] = ['status' => curl_getinfo($done['handle'], CURLINFO_RESPONSE_CODE), 'head' => $head, 'body' => $body];
                curl_multi_remove_handle($clients, $done['handle']);
                unset($open[$i]);
            }
        }
        ksort($responses);
        return $responses;
    }

    private function client(array $request): \CurlHandle
    {
        $client = curl_init("http://127.0.0.1:$this->port/");
        curl_setopt_array($client, [
            // Sends the path as it is.
            CURLOPT_REQUEST_TARGET => $request['path'],
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADER => true,
            CURLOPT_TIMEOUT => 300,
            // WordPress wants this cookie before it accepts a login.
            CURLOPT_COOKIE => $request['cookie'] ?? 'wordpress_test_cookie=WP+Cookie+check',
            CURLOPT_HTTPHEADER => ['Expect:', 'Host: ' . ($request['host'] ?? $this->host ?? "127.0.0.1:$this->port"), 'X-Forwarded-For: ' . ($request['address'] ?? '192.0.2.99'), ...$request['lines'] ?? []],
        ]);
        if (isset($request['body'])) {
            curl_setopt($client, CURLOPT_POSTFIELDS, $request['body']);
        }
        if (isset($request['method'])) {
            curl_setopt($client, CURLOPT_CUSTOMREQUEST, $request['method']);
        }
        return $client;
    }

    private static function call(string $method, string $params): string
    {
        return "<methodCall><methodName>$method</methodName><params>$params</params></methodCall>";
    }

    private static function strings(string ...$values): string
    {
        return implode('', array_map(fn ($value) => "<param><value><string>$value</string></value></param>", $values));
    }

    private function configuration(string $settings): string
    {
        $plugin = var_export(dirname(__DIR__), true);
        $counters = var_export("$this->folder/counters", true);
        return <<<PHP
            <?php
            define('DB_NAME', 'test');
            define('DB_USER', 'root');
            define('DB_PASSWORD', '');
            define('DB_HOST', 'localhost:{$this->database->socket}');
            define('WP_HOME', 'http://' . \$_SERVER['HTTP_HOST']);
            define('WP_SITEURL', WP_HOME);
            define('WP_ENVIRONMENT_TYPE', 'local');
            define('WP_HTTP_BLOCK_EXTERNAL', true);
            define('DISABLE_WP_CRON', true);
            foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as \$key) {
                // Each value is used once. WordPress would replace equal values, and the first
                // requests would race to do so.
                define(\$key . '_KEY', \$key . ' key');
                define(\$key . '_SALT', \$key . ' salt');
            }
            define('PLUGIN', $plugin);
            define('COUNTERS', $counters);
            $settings
            \$table_prefix = 'wp_';
            defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
            require_once ABSPATH . 'wp-settings.php';
            PHP;
    }

    private function directives(Fpm $fpm): string
    {
        $pass = '';
        foreach ([
            'REQUEST_METHOD' => 'request_method', 'QUERY_STRING' => 'query_string', 'REQUEST_URI' => 'request_uri', 'SCRIPT_NAME' => 'uri',
            'SERVER_NAME' => 'host', 'SERVER_PORT' => 'server_port', 'SERVER_PROTOCOL' => 'server_protocol', 'REMOTE_ADDR' => 'remote_addr', 'CONTENT_TYPE' => 'content_type', 'CONTENT_LENGTH' => 'content_length',
        ] as $name => $variable) {
            $pass .= "fastcgi_param $name \$$variable; ";
        }
        return <<<CONF
            set_real_ip_from 127.0.0.1;
            real_ip_header X-Forwarded-For;
            root $this->folder/site;
            types { text/css css; application/javascript js; image/svg+xml svg; image/png png; }
            location ~ [.](css|js|svg|png)$ { }
            # WordPress' rules for a network of sites.
            if (!-e \$request_filename) {
                rewrite ^(/[^/]+)?(/wp-.*) \$2 last;
                rewrite ^(/[^/]+)?(/.*[.]php) \$2 last;
            }
            location ~ /$ { rewrite ^(.*)$ \$1index.php last; }
            location ~ ^/.+[.]php$ {
                fastcgi_pass unix:$fpm->folder/www.sock;
                $pass
                fastcgi_param SCRIPT_FILENAME $this->folder/site\$uri;
            }
            location ~ ^/ { try_files \$uri /index.php?\$args; }
            CONF;
    }
}

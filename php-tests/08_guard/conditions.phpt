--TEST--
The guard: no spelling of a path or a method evades the condition of a limit, and other requests are not counted
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

const GUARD = 'on POST /absent,/login.php ip 1/day burst 2; on GET /a%2Cb,/export*,/absent* ip 1/day burst 2; on /other ip 1/day burst 1';
/** Requests that the application could route to the page that the key names. */
const SPELLINGS = [
    'POST /login.php' => [
        '/login.php?x=1', '//login.php', '/./login.php', '/x/../login.php', '/%6cogin.php', '/login.ph%70', '/login.php/',
        '/login.php/1.php', '/login.php/../login.php', '/login.php/login.php/2', '/s1/login.php', '/s2//login.php/3',
        'http://other.example/login.php', 'HTTP://a:b@[::1]:80//login.php?/x',
    ],
    'GET /export' => [
        '/export/', '/export/1/2?x', '/%65xport', '/x/%2e%2E/export', '//export//1', '/index.php/export', '/index.php//export/1',
        '/index.php/x/../export', '/export/%2e%2e/x', '/export/../../x', 'http://other.example/export', '//x/export', 'http:/export',
    ],
    'HEAD /export' => ['/export', '/index.php/export/1'],
];
/** Requests that no limit counts. */
const OTHERS = [
    'GET' => ['/login.php', '/login.php/1', '/exports', '/expor', '/x/export', '/index.php', '/index.php/exports', '/?/export', '/x?/export'],
    'POST' => ['/export', '/index.php/export', '/login', '/login.phpx', '/EXPORT'],
    'PUT' => ['/login.php', '/export'],
    'HEAD' => ['/login.php'],
];

/** Sends a request of a client, and returns its status. */
function status(int $port, string $method, string $path, int $client): int
{
    return http_request($port, $path, ["X-Forwarded-For: 203.0.113.$client"], $method)[0] ?? 0;
}

foreach (['off' => '', 'on' => GUARD] as $how => $guard) {
    $ini = ['tokenbucket.guard' => $guard, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
    with_web_servers($ini, ['login' => SCRIPT, 'index' => SCRIPT], function (string $name, int $port) use ($how) {
        echo "guard $how, $name: ";
        [$client, $sent, $run, $counted] = [1, 0, [], []];
        foreach (SPELLINGS as $request => $paths) {
            [$method, $plain] = explode(' ', $request);
            $statuses = array_map(fn () => status($port, $method, $plain, $client), range(1, 3));
            check($statuses === ($how === 'on' ? [200, 200, 429] : [200, 200, 200]), "$request: " . json_encode($statuses));
            foreach ($paths as $path) {
                // This server rewrites no path. Since PHP 8.4 it runs index.php for these.
                if ($name === 'PHP\'s own web server' && preg_match('#^/s\d/#', $path)) {
                    continue;
                }
                $sent++;
                status($port, $method, $path, $client) === 200 && $run[] = "$method $path";
            }
            $client++;
        }
        foreach (OTHERS as $method => $paths) {
            foreach ($paths as $path) {
                $statuses = array_map(fn () => status($port, $method, $path, $client), range(1, 3));
                in_array(429, $statuses, true) && $counted[] = "$method $path";
            }
        }
        echo $how === 'on' ? 'run: ' . json_encode($run) : count($run) . " of $sent run",
            ', counted by mistake: ', json_encode($counted), "\n";
    });
}
?>
--EXPECT--
guard off, nginx and php-fpm: 26 of 29 run, counted by mistake: []
guard off, Apache and php-fpm: 27 of 29 run, counted by mistake: []
guard off, mod_php: 27 of 29 run, counted by mistake: []
guard off, php-cgi: 27 of 29 run, counted by mistake: []
guard off, PHP's own web server: 26 of 27 run, counted by mistake: []
guard on, nginx and php-fpm: run: [], counted by mistake: []
guard on, Apache and php-fpm: run: [], counted by mistake: []
guard on, mod_php: run: [], counted by mistake: []
guard on, php-cgi: run: [], counted by mistake: []
guard on, PHP's own web server: run: [], counted by mistake: []

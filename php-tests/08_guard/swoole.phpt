--TEST--
The recipe for Swoole counts people with a session and clients behind a proxy as php-fpm does
--SKIPIF--
<?php is_file(ini_get('extension_dir') . '/swoole.so') || die('skip Swoole is not installed'); ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/http.php';
require_once __DIR__ . '/../../tools/testkit/php/server_process.php';
require_once __DIR__ . '/../../tools/testkit/php/wait_for.php';

preg_match('/^### Swoole\n.*?^```php\n(.*?)^```$/ms', file_get_contents(__DIR__ . '/../../docs/how-to/deploy.md'), $recipe);
$port = ServerProcess::free_port();
$script = temporary_folder() . '/server.php';
file_put_contents($script, '<?php ' . str_replace('9501', (string) $port, $recipe[1]));
$ini = [
    'extension' => 'swoole', 'tokenbucket.guard' => 'unless cookie session ip 1/day; on /export all 1/day', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1',
];
$server = proc_open('exec ' . php_command($ini) . " -f $script", [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
wait_for('Swoole listens', fn () => @stream_socket_client("tcp://127.0.0.1:$port") !== false);
$proxy = 'X-Forwarded-For: 192.0.2.1';
foreach ([
    'a client' => ['/', $proxy],
    'the client again' => ['/', $proxy],
    'with a forged line before that of the proxy' => ['/', 'X-Forwarded-For: 203.0.113.1', $proxy],
    'with a forged name' => ['/', 'X_Forwarded_For: 203.0.113.1', $proxy],
    'with a session' => ['/', $proxy, 'Cookie: a=1; session=2'],
    'with another cookie' => ['/', $proxy, 'Cookie: a=session'],
    'an export with a session' => ['/export', $proxy, 'Cookie: session=2'],
    'another export' => ['/export', $proxy, 'Cookie: session=2'],
] as $who => $request) {
    echo "$who: ", http_request($port, $request[0], array_slice($request, 1))[0], "\n";
}
proc_terminate($server);
echo stream_get_contents($pipes[1]), "== a cron job\n", php_run('echo "done\n";', ['log_errors' => '1'] + $ini);
?>
--EXPECT--
a client: 200
the client again: 429
with a forged line before that of the proxy: 429
with a forged name: 429
with a session: 200
with another cookie: 429
an export with a session: 200
another export: 429
== a cron job
done

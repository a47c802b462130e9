--TEST--
The guard: a client that stalls holds a permit only while the script runs, and the servers bound that time
--SKIPIF--
<?php require __DIR__ . '/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

const GUARD = ['tokenbucket.guard' => 'all concurrent 1', 'error_log' => '/dev/null', 'max_execution_time' => '1', 'max_input_time' => '1'];
const SCRIPTS = [
    'read' => '<?php echo strlen(file_get_contents("php://input")), " bytes";',
    'large' => '<?php for ($i = 0; $i < 300; $i++) { echo str_repeat("x", 100_000); }',
    'index' => '<?php echo "index";',
    'outer' => '<?php
        $context = stream_context_create(["http" => ["ignore_errors" => true, "timeout" => 60]]);
        $response = fopen("http://127.0.0.1:$_GET[port]/index", "r", false, $context);
        echo stream_get_meta_data($response)["wrapper_data"][0];',
];

/** Starts both servers. Passes nginx's port, the permits in use and the worker's state to $test. */
function with_servers(string $directives, callable $test, array $pool = [], array $ini = []): void
{
    // The second pool replies while the worker of the first one is occupied.
    $status = ['pm.status_path' => '/status', 'pm.status_listen' => sys_get_temp_dir() . '/tokenbucket-stalls-' . getmypid() . '.sock'];
    $fpm = new Fpm(['www' => $pool + $status + ['listen.mode' => '0666', 'pm.max_children' => 1], 'watch' => ['pm.max_children' => 1]], $ini + GUARD);
    array_map($fpm->script(...), array_keys(SCRIPTS), SCRIPTS);
    $watch = $fpm->script('watch', '<?php echo TokenBucket\status()["permits"]["held"];');
    $held = fn (): int => (int) $fpm->request($watch, ['REMOTE_ADDR' => ''], 'watch')['body'];
    $state = function () use ($status): string {
        $reply = FastCgi::output($status['pm.status_listen'], '/status', ['SCRIPT_NAME' => '/status', 'QUERY_STRING' => 'full&json']);
        return json_decode(explode("\r\n\r\n", $reply, 2)[1], true)['processes'][0]['state'];
    };
    $nginx = new Nginx($fpm, $directives);
    $test($nginx->port, $held, $state);
    $nginx->kill();
    $fpm->stop();
}

/** Sends the beginning of a request. */
function begin(int $port, string $request, string ...$fields): mixed
{
    $stream = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 60);
    stream_set_timeout($stream, 60);
    fwrite($stream, implode("\r\n", ["$request HTTP/1.0", "Host: 127.0.0.1:$port", ...$fields, '', '']));
    return $stream;
}

const BODY = ['Content-Length: 10', 'Content-Type: application/json'];

with_servers('fastcgi_request_buffering on;', function (int $port) {
    $streams = [];
    foreach (['POST', 'PUT'] as $method) {
        fwrite($streams[] = begin($port, "$method /read", ...BODY), '12345');
    }
    echo 'nginx buffers bodies: other requests get ', probe($port, '/index', 1), ' ', probe($port, '/index', 2), "\n";
    foreach ($streams as $stream) {
        fwrite($stream, '67890');
        echo '  the rest of the body: ', trim(substr(stream_get_contents($stream), -9)), "\n";
    }
});
with_servers('fastcgi_request_buffering off;', function (int $port, callable $held, callable $state) {
    echo "nginx does not buffer bodies:\n";
    fwrite($stream = begin($port, 'POST /read', ...BODY), '12345');
    wait_for('PHP reads the body', fn () => str_starts_with($state(), 'Getting request information'));
    echo "  PHP reads the body of a POST before the guard decides: permits {$held()}";
    fwrite($stream, '67890');
    echo ', then ', trim(substr(stream_get_contents($stream), -9)), "\n";
    fwrite($stream = begin($port, 'PUT /read', ...BODY), '12345');
    wait_for('the script reads the body', fn () => $held() === 1);
    echo "  the script reads the body of a PUT: permits {$held()}";
    fwrite($stream, '67890');
    echo ', then ', trim(substr(stream_get_contents($stream), -9)), "\n";
});
with_servers('fastcgi_request_buffering off;', function (int $port, callable $held, callable $state) {
    foreach (['POST' => fn () => str_starts_with($state(), 'Getting request information'), 'PUT' => fn () => $held() === 1] as $method => $stalls) {
        fwrite($stream = begin($port, "$method /read", ...BODY), '12345');
        wait_for("the $method stalls", $stalls);
        echo "request_terminate_timeout ends a $method that stalls: ", substr((string) fgets($stream), 9, 3);
        wait_for('the worker has ended', fn () => $held() === 0);
        echo ", permits {$held()}\n";
    }
}, ['request_terminate_timeout' => '2s']);
with_servers('fastcgi_buffering off; send_timeout 2s;', function (int $port, callable $held) {
    $stream = begin($port, 'GET /large');
    wait_for('the response stalls', fn () => $held() === 1);
    wait_for('nginx gives up', fn () => $held() === 0);
    echo "nginx's send_timeout ends a response that is not read: permits {$held()}\n";
});
with_servers('', function (int $port, callable $held) {
    $stream = begin($port, 'GET /large');
    fread($stream, 1);
    wait_for('the request has ended', fn () => $held() === 0);
    echo "nginx buffers responses: permits {$held()} while the client reads\n";
});
foreach (['', '127.0.0.1'] as $allow) {
    with_servers('', function (int $port) use ($allow) {
        $context = stream_context_create(['socket' => ['bindto' => '127.0.0.9:0'], 'http' => ['timeout' => 60]]);
        echo "a loopback request, guard_allow \"$allow\": ", file_get_contents("http://127.0.0.1:$port/outer?port=$port", false, $context), "\n";
    }, ['pm.max_children' => 2], ['tokenbucket.guard_allow' => $allow]);
}
?>
--EXPECT--
nginx buffers bodies: other requests get 200 200
  the rest of the body: 10 bytes
  the rest of the body: 10 bytes
nginx does not buffer bodies:
  PHP reads the body of a POST before the guard decides: permits 0, then 10 bytes
  the script reads the body of a PUT: permits 1, then 10 bytes
request_terminate_timeout ends a POST that stalls: 502, permits 0
request_terminate_timeout ends a PUT that stalls: 502, permits 0
nginx's send_timeout ends a response that is not read: permits 0
nginx buffers responses: permits 0 while the client reads
a loopback request, guard_allow "": HTTP/1.1 503 Service Unavailable
a loopback request, guard_allow "127.0.0.1": HTTP/1.1 200 OK

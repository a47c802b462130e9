--TEST--
The guard: a denial has its status and fields, although PHP has a warning about the request
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/built_in.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

const CODE = '<?php echo "script ", json_encode(array_intersect_key(error_get_last() ?? [], ["line" => 0])), ob_get_level();';
const REQUESTS = [
    'no boundary' => ['method' => 'POST', 'content' => 'a', 'header' => 'Content-Type: multipart/form-data'],
    'a long body' => ['method' => 'POST', 'content' => 'a=23456789', 'header' => 'Content-Type: application/x-www-form-urlencoded'],
    'many parameters' => ['method' => 'GET', 'query' => '?a=1&b=2&c=3&d=4'],
];

/** Sends the requests, and returns the status, Retry-After and body of each reply. */
function replies(int $port, string $path): array
{
    return array_map(function (array $request) use ($port, $path) {
        $context = stream_context_create(['http' => $request + ['ignore_errors' => true, 'timeout' => 60]]);
        $body = file_get_contents("http://127.0.0.1:$port/$path" . ($request['query'] ?? ''), false, $context);
        $waits = preg_grep('/^Retry-After: [1-9]/i', $http_response_header) !== [];
        return explode(' ', $http_response_header[0])[1] . ($waits ? ' and Retry-After: ' : ': ') . trim($body);
    }, REQUESTS);
}

$servers = [
    'nginx' => function (array $ini): array {
        $fpm = new Fpm(['www' => ['listen.mode' => '0666']], $ini);
        $fpm->script('script', CODE);
        $nginx = new Nginx($fpm);
        return [$nginx->port, fn () => [$nginx->kill(), $fpm->stop()]];
    },
    'mod_php' => function (array $ini): array {
        $apache = new Apache(ini: $ini);
        $apache->script('script', CODE);
        return [$apache->port, $apache->kill(...)];
    },
    'php-cgi' => function (array $ini): array {
        $apache = new Apache(true, ini: $ini + ['tokenbucket.shm_path' => segment_path()]);
        $apache->script('script', CODE);
        return [$apache->port, $apache->kill(...)];
    },
    'PHP\'s own web server' => function (array $ini): array {
        $server = new BuiltInServer($ini, CODE);
        return [$server->port, $server->kill(...)];
    },
];
$outputs = [['output_buffering' => '0'], ['output_buffering' => '64'], ['output_buffering' => '4096', 'implicit_flush' => '1']];
$guards = ['off' => '', 'passes' => 'ip 9/day', 'denies' => 'header:x-missing 1/day burst 1; ip 1000/day burst 1000'];
foreach ($servers as $name => $start) {
    foreach ($name === 'nginx' ? $outputs : [$outputs[0]] as $output) {
        echo "== $name, ", http_build_query($output, arg_separator: ' '), "\n";
        $replies = [];
        foreach ($guards as $how => $guard) {
            [$port, $stop] = $start($output + ['tokenbucket.guard' => $guard, 'display_startup_errors' => '1', 'post_max_size' => '9', 'max_input_vars' => '3']);
            $how === 'denies' && file_get_contents("http://127.0.0.1:$port/script.php");
            $replies[$how] = replies($port, 'script.php');
            $stop();
        }
        check($replies['off'] === $replies['passes'], 'the guard changes no reply that passes: ' . json_encode($replies));
        foreach ($replies['off'] as $what => $reply) {
            check(preg_match('/^200: (Warning: .+ in Unknown on line 0\s+)+script \{"line":0\}\d$/', $reply) === 1, "$what: $reply");
        }
        foreach (array_count_values($replies['denies']) as $reply => $count) {
            echo "$count × $reply\n";
        }
    }
}
?>
--EXPECT--
== nginx, output_buffering=0
3 × 429 and Retry-After: Too many requests.
== nginx, output_buffering=64
3 × 429 and Retry-After: Too many requests.
== nginx, output_buffering=4096 implicit_flush=1
3 × 429 and Retry-After: Too many requests.
== mod_php, output_buffering=0
3 × 429 and Retry-After: Too many requests.
== php-cgi, output_buffering=0
3 × 429 and Retry-After: Too many requests.
== PHP's own web server, output_buffering=0
3 × 429 and Retry-After: Too many requests.

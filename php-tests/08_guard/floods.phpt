--TEST--
The guard: a flood through nginx runs the script exactly as often as the limit allows, however it is sent
--SKIPIF--
<?php require __DIR__ . '/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

/**
 * Sends requests over one connection, and waits for the responses of each group before it sends the
 * next one. Returns the number of responses by status, and of lost ones.
 *
 * @param list<string> $requests
 */
function over_one_connection(int $port, array $requests, int $group): array
{
    $stream = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 60);
    stream_set_timeout($stream, 60);
    [$received, $expected] = ['', 0];
    foreach (array_chunk($requests, $group) as $chunk) {
        fwrite($stream, implode('', $chunk));
        $expected += count($chunk);
        while (substr_count($received, 'HTTP/1.1 ') < $expected && !feof($stream)) {
            $received .= fread($stream, 65536);
        }
    }
    preg_match_all('/HTTP\/1\.1 (\d+)/', $received, $statuses);
    $counts = array_count_values($statuses[1]) + ['lost' => count($requests) - count($statuses[1])];
    return array_filter($counts);
}

/** Returns the sum of the counts of several connections. */
function sum(array $of_connections): array
{
    $sum = [];
    foreach ($of_connections as $counts) {
        foreach ($counts as $status => $count) {
            $sum[$status] = ($sum[$status] ?? 0) + $count;
        }
    }
    ksort($sum);
    return $sum;
}

$fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_requests' => 100]], [
    'tokenbucket.guard' => 'on /login.php ip 1/day burst 5 block 1 day; on /page.php ip 1/day burst 500',
    'tokenbucket.guard_trusted_proxies' => '127.0.0.1 10.0.0.0/8', 'tokenbucket.guard_allow' => '10.0.0.6',
]);
$runs = "$fpm->folder/runs";
touch($runs);
chmod($runs, 0666);
foreach (['login', 'page'] as $name) {
    $fpm->script($name, "<?php file_put_contents('$runs', '.', FILE_APPEND); echo 'script';");
}
$nginx = new Nginx($fpm);
/** Returns a request of a client for the page with a limit of five requests. */
$login = fn (string $client, string $method = 'POST', string $host = 'localhost', string $field = 'X: y') =>
    "$method /login.php HTTP/1.1\r\nHost: $host\r\nX-Forwarded-For: $client\r\n$field\r\nContent-Length: 0\r\n\r\n";
/** Floods the page over four connections, and prints the numbers of responses and of runs. */
$flood = function (string $what, int $count, callable $request, int $group = 1) use ($nginx, $runs): void {
    $before = filesize($runs);
    $responses = sum(in_processes(4, fn (int $i) => over_one_connection($nginx->port, array_map($request, range($i * $count, ($i + 1) * $count - 1)), $group)));
    clearstatcache();
    echo "$what: ", json_encode($responses), ', runs: ', filesize($runs) - $before, "\n";
};

$flood('keep-alive', 50, fn () => $login('203.0.113.1'));
$flood('pipelining', 50, fn () => $login('203.0.113.2'), 50);
$flood('hosts', 50, fn (int $i) => $login('203.0.113.3', 'POST', "host$i.example"));
$methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'UNKNOWN'];
$flood('methods', 50, fn (int $i) => $login('203.0.113.4', $methods[$i % 7]));
$flood('other methods by a header', 50, fn (int $i) => $login('203.0.113.5', 'POST', 'localhost', "X-HTTP-Method-Override: " . $methods[$i % 7]));
$flood('10,000 addresses of a /64', 2500, fn (int $i) => $login(sprintf('2001:db8:1:2:%x::%x', $i % 7, $i)), 50);
$flood('the spellings of an IPv4 address', 50, fn (int $i) => $login(['8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b::808:808', '::ffff:8.8.8.8', '[64:ff9b::8.8.8.8]:81', '8.8.8.8:82'][$i % 6]));
$flood('a NAT64 address of a proxy', 50, fn (int $i) => $login("203.0.114.$i, 64:ff9b::10.0.0.5"));
$flood('a NAT64 address that is allowed', 50, fn (int $i) => $login("203.0.114.$i, 64:ff9b::10.0.0.6"));
$flood('control: other clients', 50, fn (int $i) => $login("198.51.100.$i"));

$pages = fn () => over_one_connection($nginx->port, array_fill(0, 300, "GET /page.php HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.6\r\n\r\n"), 1);
$before = filesize($runs);
$responses = sum(in_processes(5, function (int $i) use ($pages, $fpm) {
    if ($i < 4) {
        return $pages();
    }
    array_map(fn () => $fpm->reload(), range(1, 3));
    return [];
}));
clearstatcache();
$ran = filesize($runs) - $before;
$other = array_sum($responses) - ($responses[200] ?? 0) - ($responses[429] ?? 0);
check($ran <= 500 && $ran + $other >= 500, 'reloads: ' . json_encode($responses) . ", $ran runs");
$flood('a client that was blocked before the reloads', 50, fn () => $login('203.0.113.1'));
?>
--EXPECT--
keep-alive: {"200":5,"429":195}, runs: 5
pipelining: {"200":5,"429":195}, runs: 5
hosts: {"200":5,"429":195}, runs: 5
methods: {"200":5,"429":195}, runs: 5
other methods by a header: {"200":5,"429":195}, runs: 5
10,000 addresses of a /64: {"200":5,"429":9995}, runs: 5
the spellings of an IPv4 address: {"200":5,"429":195}, runs: 5
a NAT64 address of a proxy: {"200":5,"429":195}, runs: 5
a NAT64 address that is allowed: {"429":200}, runs: 0
control: other clients: {"200":200}, runs: 200
a client that was blocked before the reloads: {"429":200}, runs: 0

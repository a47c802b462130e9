--TEST--
The guard: a request that has waited too long in the queue gets status 503, and no client can forge its age
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

echo "== the variable\n";
$log = log_file();
$fpm = new Fpm(ini: ['error_log' => $log, 'tokenbucket.guard_max_age' => '150', 'tokenbucket.guard_allow' => '192.0.2.9']);
$script = $fpm->script('script', '<?php echo "script";');
// A busy machine adds less than a minute to these ages.
$ago = fn (float $seconds) => sprintf('%.6F', microtime(true) - $seconds);
$apache = fn (float $seconds) => sprintf('t=%d', (microtime(true) - $seconds) * 1e6);
foreach ([
    'missing' => [], 'now' => ['TOKENBUCKET_RECEIVED' => $ago(0)], '90 s' => ['TOKENBUCKET_RECEIVED' => substr($ago(90), 0, -3)],
    '200 s' => ['TOKENBUCKET_RECEIVED' => $ago(200)], '200 s of Apache' => ['TOKENBUCKET_RECEIVED' => $apache(200)],
    '90 s of Apache' => ['TOKENBUCKET_RECEIVED' => $apache(90)], '2000 s' => ['TOKENBUCKET_RECEIVED' => $ago(2000)],
    'the future' => ['TOKENBUCKET_RECEIVED' => $ago(-1000)], 'empty' => ['TOKENBUCKET_RECEIVED' => ''],
    'malformed' => ['TOKENBUCKET_RECEIVED' => "yesterday\nPHP Fatal error:  forged"],
    'a header' => ['HTTP_TOKENBUCKET_RECEIVED' => $ago(200)], 'an allowed client' => ['REMOTE_ADDR' => '192.0.2.9', 'TOKENBUCKET_RECEIVED' => $ago(200)],
    'no address' => ['REMOTE_ADDR' => '', 'TOKENBUCKET_RECEIVED' => $ago(200)],
] as $what => $variables) {
    $response = $fpm->request($script, $variables);
    echo "$what: $response[status] ", trim($response['body']), "\n";
}
$fields = $fpm->request($script, ['TOKENBUCKET_RECEIVED' => $ago(200)])['fields'];
echo json_encode(array_intersect_key($fields, ['retry-after' => 0, 'cache-control' => 0, 'status' => 0])), "\n";
foreach (['guard: stale', 'guard: no address'] as $row) {
    echo "$row: ", json_encode(decisions($fpm, $row)), "\n";
}
$fpm->stop();
$lines = file($log);
echo count($lines), ' line: ', preg_replace(['/^\[.*?\] /', '/\d+\.\d+"/'], ['', '…"'], $lines[0]);

echo "== observe\n";
$fpm = new Fpm(ini: ['error_log' => $log, 'tokenbucket.guard_max_age' => '150', 'tokenbucket.guard_mode' => 'observe']);
$script = $fpm->script('script', '<?php echo "script";');
echo statuses($fpm, $script, ...array_fill(0, 3, ['TOKENBUCKET_RECEIVED' => $ago(200)])), ' ', json_encode(decisions($fpm, 'guard: stale')), "\n";
$fpm->stop();
$lines = array_slice(file($log), 1);
echo count($lines), ' line: ', preg_replace(['/^\[.*?\] /', '/20\d\.\d{3} s/'], ['', '… s'], $lines[0]);

/** Returns the number of connections to a pool of one worker, also of those that wait for it. */
function connections(Fpm $fpm): int
{
    // One of these sockets listens. It is not a connection.
    return substr_count(file_get_contents('/proc/net/unix'), "$fpm->folder/www.sock\n") - 1;
}

/** Occupies the only worker of a php-fpm, and prints the status of requests that wait for it. */
function queued(string $name, int $port, Fpm $fpm): void
{
    $held = new Held($port, '/hold.php');
    $held->start(1);
    $now = sprintf('%.6F', microtime(true) + 100);
    $streams = [];
    foreach ([[], ["X-Received: t=" . (int) ($now * 1e6)], ["TOKENBUCKET-RECEIVED: $now", "TOKENBUCKET_RECEIVED: $now", "Tokenbucket-Received: $now"]] as $lines) {
        $streams[] = $stream = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 60);
        stream_set_timeout($stream, 60);
        fwrite($stream, implode("\r\n", ['GET /index.php HTTP/1.0', 'Host: localhost', ...$lines, '', '']));
    }
    // A request in the queue has the instant at which the web server has received it.
    wait_for('the requests are in the queue', fn () => connections($fpm) === 1 + count($streams));
    usleep(1_100_000);
    $body = $held->end();
    $statuses = array_map(fn ($stream) => substr((string) fgets($stream), 9, 3), $streams);
    echo "$name: $body, ", implode(' ', $statuses), "\n";
}

echo "== the queue of a web server\n";
const SCRIPTS = ['hold' => HOLD, 'index' => '<?php echo "index";'];
$pool = ['pm.max_children' => 1, 'listen.mode' => '0666'];
foreach (['1' => 'queued', '300' => fn (string $name, int $port, Fpm $fpm) => print "$name: " . probe($port, '/index.php', 1) . "\n"] as $max_age => $test) {
    $fpm = new Fpm(['www' => $pool], ['tokenbucket.guard_max_age' => $max_age]);
    array_map($fpm->script(...), array_keys(SCRIPTS), SCRIPTS);
    $nginx = new Nginx($fpm, variables: ['TOKENBUCKET_RECEIVED' => 'msec']);
    $test('nginx', $nginx->port, $fpm);
    $nginx->kill();
    $apache = new Apache(directives: apache_modules('headers', 'proxy', 'proxy_fcgi') + [
        'RequestHeader' => 'set X-Received "%t" early', 'ProxyFCGISetEnvIf' => '"true" TOKENBUCKET_RECEIVED "%{HTTP:X-Received}"',
        '<LocationMatch \.php$>' => '', 'SetHandler' => "\"proxy:unix:$fpm->folder/www.sock|fcgi://localhost\"", '</LocationMatch>' => '',
        'MaxRequestWorkers' => 8,
    ]);
    array_map($apache->script(...), array_keys(SCRIPTS), SCRIPTS);
    $test('Apache', $apache->port, $fpm);
    $apache->kill();
    $fpm->stop();
}
?>
--EXPECT--
== the variable
missing: 200 script
now: 200 script
90 s: 200 script
200 s: 503 Service unavailable.
200 s of Apache: 503 Service unavailable.
90 s of Apache: 200 script
2000 s: 200 script
the future: 200 script
empty: 200 script
malformed: 200 script
a header: 200 script
an allowed client: 503 Service unavailable.
no address: 503 Service unavailable.
{"status":"503 Service Unavailable","cache-control":"no-store","retry-after":"1"}
guard: stale: {"granted":0,"denied":5}
guard: no address: {"granted":0,"denied":0}
1 line: tokenbucket: guard: TOKENBUCKET_RECEIVED is no instant of the last 300 seconds: "…"
== observe
200 200 200 {"granted":0,"denied":3}
1 line: tokenbucket: guard: a request has waited for … s and would be denied in the mode "enforce"
== the queue of a web server
nginx: held, 503 503 503
Apache: held, 503 503 503
nginx: 200
Apache: 200

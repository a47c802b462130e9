--TEST--
Test kit: the proxy counts and fails as tests expect, and nothing is left of a killed test's servers
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/**
 * Sends a line and returns the reply. Stops after $length bytes, at the end of the connection, or
 * after $patience seconds.
 */
function talk(int $port, string $line, int $length, $stream = null, float $patience = PATIENCE): string
{
    $stream ??= stream_socket_client("tcp://127.0.0.1:$port");
    stream_set_timeout($stream, (int) $patience, (int) (1e6 * fmod($patience, 1)));
    fwrite($stream, "$line\r\n");
    return (string) stream_get_contents($stream, $length);
}

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$stream = stream_socket_client("tcp://127.0.0.1:$proxy->port");
for ($i = 0; $i < 10; $i++) {
    check(talk($proxy->port, 'PING', 7, $stream) === "+PONG\r\n", 'the proxy passes');
}
check(talk($proxy->port, "PING\r\nPING", 14, $stream) === "+PONG\r\n+PONG\r\n", 'the proxy passes a pipeline');
check(
    $proxy->counts() === [
        'connections' => 1, 'round_trips' => 11, 'requests' => 11, 'request_bytes' => 72, 'reply_bytes' => 84,
    ],
    'the proxy counts: ' . json_encode($proxy->counts())
);
$proxy->set(Proxy::DRIP, 20);
$start = hrtime(true);
check(talk($proxy->port, 'PING', 7) === "+PONG\r\n" && hrtime(true) - $start >= 120e6, 'the proxy drips');
$proxy->set(Proxy::HALF_REPLY);
check(talk($proxy->port, 'PING', 7) === '+PO', 'the proxy passes a half');
$proxy->set(Proxy::SWALLOW_REPLIES);
check(talk($proxy->port, 'INCR hits', 4, patience: 0.1) === '', 'the proxy swallows a reply');
wait_for('the request arrives', fn () => $redis->command('GET', 'hits') === '1');
$proxy->set(Proxy::SWALLOW_REQUESTS);
$before = $proxy->counts()['requests'];
check(talk($proxy->port, 'INCR hits', 4, patience: 0.1) === '', 'the proxy swallows a request');
wait_for('the proxy reads the request', fn () => $proxy->counts()['requests'] > $before);
check($redis->command('GET', 'hits') === '1', 'the server does not');
$proxy->set(Proxy::PASS);
$proxy->cut();
check(talk($proxy->port, 'PING', 7, $stream) === '' && feof($stream), 'the proxy cuts');
check(talk($proxy->port, 'PING', 7) === "+PONG\r\n", 'the proxy passes again');

// The end of a forked child leaves the servers running.
if (($child = pcntl_fork()) === 0) {
    exit(0);
}
pcntl_waitpid($child, $status);
check($redis->command('PING') === 'PONG' && $proxy->roundTrips() > 11, 'the servers outlive a child');

// Checks the watchdog with a test that is killed before its shutdown functions run.
$code = 'require $argv[1]; $redis = RedisServer::start(); echo "$redis->pid $redis->folder"; flush();'
    . ' exec("kill -KILL " . getmypid()); sleep(10);';
$said = (string) shell_exec('exec ' . implode(' ', array_map(escapeshellarg(...), [
    PHP_BINARY, '-n', '-r', $code, dirname(__DIR__, 2) . '/tools/testkit/php/servers.php',
])));
[$pid, $folder] = explode(' ', $said) + ['', ''];
$gone = fn () => !file_exists($folder)
    && !is_alive((int) $pid);
check($folder !== '', "it says: $said");
wait_for('nothing is left of a killed test\'s server', $gone);
echo "done\n";
?>
--EXPECT--
done

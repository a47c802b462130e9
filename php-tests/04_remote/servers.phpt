--TEST--
Test kit: the servers and the proxy of these tests work
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

$redis = RedisServer::start(['--maxmemory', '50mb', '--requirepass', 'secret']);
check($redis->command('SET', 'key', '1') === 'OK', 'redis sets');
check($redis->command('INCR', 'key') === 2, 'redis counts');
check($redis->command('CONFIG', 'GET', 'maxmemory') === ['maxmemory', '52428800'], 'redis has its options');
check(str_starts_with(talk($redis->port, 'PING', 7), '-NOAUTH'), 'redis listens on its port');
check(thrown(fn () => $redis->command('NONE')) !== 'nothing thrown', 'redis refuses');

$redis = RedisServer::start();
$before = [$redis->port, $redis->socket];
$pid = $redis->pid;
$redis->command('SET', 'key', '1');
$redis->kill();
check(!file_exists("/proc/$pid") && @stream_socket_client("tcp://127.0.0.1:$redis->port") === false, 'redis is killed');
$redis->restart();
check([$redis->port, $redis->socket] === $before && $redis->pid !== $pid, 'redis is the same');
check($redis->command('GET', 'key') === null, 'redis is empty');
$redis->signal('STOP');
check(talk($redis->port, 'PING', 7, patience: 0.1) === '', 'redis is suspended');
$redis->signal('CONT');
check(talk($redis->port, 'PING', 7) === "+PONG\r\n", 'redis goes on');

foreach ([MemcachedServer::startTcp(), MemcachedServer::startUnix()] as $memcached) {
    check($memcached->command("set key 0 0 5\r\nvalue", 'STORED') === [], 'memcached sets');
    check($memcached->stats()['curr_items'] === '1', 'memcached holds');
    $memcached->restart();
    check($memcached->stats()['curr_items'] === '0', 'memcached is empty');
}

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

--TEST--
Test kit: the proxy delays bytes and ends connections, and nothing is left of a killed test's servers
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$proxy->set(Proxy::DRIP, 20);
$stream = stream_socket_client("tcp://127.0.0.1:$proxy->port");
$start = hrtime(true);
fwrite($stream, "PING\r\n");
check(stream_get_contents($stream, 7) === "+PONG\r\n" && hrtime(true) - $start >= 120e6, 'the proxy drips');
$proxy->cut();
check(stream_get_contents($stream) === '' && feof($stream), 'the proxy cuts');

// Checks the watchdog with a test that is killed before its shutdown functions run.
$code = 'require $argv[1]; $redis = RedisServer::start(); echo "$redis->pid $redis->folder"; flush();'
    . ' exec("kill -KILL " . getmypid()); sleep(10);';
$said = (string) shell_exec('exec ' . implode(' ', array_map(escapeshellarg(...), [
    PHP_BINARY, '-n', '-r', $code, dirname(__DIR__, 2) . '/tools/testkit/php/servers.php',
])));
[$pid, $folder] = explode(' ', $said) + ['', ''];
$gone = fn () => !file_exists($folder) && !is_alive((int) $pid);
check($folder !== '', "it says: $said");
wait_for('nothing is left of a killed test\'s server', $gone);
echo "done\n";
?>
--EXPECT--
done

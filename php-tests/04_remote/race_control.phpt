--TEST--
Control: a GET, check, SET limiter over Redis over-admits in the same harness
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/race.inc.php';

$server = RedisServer::start();
$try = function () use ($server): bool {
    static $stream = null;
    $stream ??= stream_socket_client("unix://$server->socket");
    fwrite($stream, "GET left\r\n");
    fgets($stream);
    $left = (int) fgets($stream);
    if ($left < 1) {
        return false;
    }
    fwrite($stream, 'SET left ' . ($left - 1) . "\r\n");
    fgets($stream);
    return true;
};
for ($round = 0, $granted = 0; $granted <= CAPACITY && $round < 10; $round++) {
    $server->command('SET', 'left', (string) CAPACITY);
    $granted = array_sum(granted_in_race($try, 1000));
}
echo $granted > CAPACITY ? 'more than ' . CAPACITY : $granted, "\n";
?>
--EXPECT--
more than 1000

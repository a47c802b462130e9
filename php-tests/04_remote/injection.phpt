--TEST--
Identifiers and prefixes with control bytes or commands are used only as names
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$attacks = [
    "x\r\nflush_all\r\n", "\r\nset planted 0 0 1\r\n1\r\n", "x 5 0 1\r\n1\r\nset planted 0 0 1\r\n1\r\n", "x\nflush_all\n", "x\rflush_all\r",
    "x\0\r\nset planted 0 0 1\r\n1\r\n", 'x F0 T1 MS', "x\tflush_all", "x v c t", 'x noreply', "x 1 1 1 noreply\r\nflush_all",
    str_repeat('a', 251) . "\r\nflush_all\r\n", str_repeat('a', 300), "\r\nFLUSHALL\r\n", "*1\r\n$8\r\nFLUSHALL\r\n", "x\r\n*3\r\n$3\r\nSET\r\n$7\r\nplanted\r\n$1\r\n1\r\n",
    "') redis.call('FLUSHALL') --", "']]redis.call('SET','planted',1)--[[", "\"\\r\\nFLUSHALL", ' ', '', "\x7f", "mn\r\nmn\r\n",
];
$memcached->command("set witness 0 0 1\r\n1", 'STORED');
$redis->command('SET', 'witness', '1');
foreach (['Redis' => "unix://$redis->socket", 'Memcached' => "127.0.0.1:$memcached->port"] as $kind => $address) {
    $class = "TokenBucketStorage$kind";
    foreach ($attacks as $number => $attack) {
        foreach (['as identifier' => ["i$number:", $attack], 'as prefix' => [$attack, "p$number"], 'as both' => ["$attack b$number", $attack]] as $what => [$prefix, $identifier]) {
            $bucket = new TokenBucket(new $class($address, $prefix, PATIENCE, TokenBucket\OnFailure::Throw, false), $identifier, 5, 0.001);
            $said = json_encode([
                $bucket->peek()->remaining, $bucket->consume(3), $bucket->attempt(3)->remaining, $bucket->refund(), $bucket->peek()->remaining,
            ]);
            check($said === '[5,true,2,null,3]', "$kind: $number $what: $said");
        }
    }
}
check($redis->command('GET', 'witness') === '1' && $redis->command('EXISTS', 'planted') === 0, 'Redis is as it was');
check($redis->command('DBSIZE') === 1 + 3 * count($attacks), 'keys of Redis: ' . $redis->command('DBSIZE'));
$stats = $memcached->stats();
check($memcached->command('get witness', 'END')[1] === '1' && $memcached->command('get planted', 'END') === [], 'memcached is as it was');
check((int) $stats['curr_items'] === 1 + 3 * count($attacks), 'items of memcached: ' . $stats['curr_items']);
check($stats['cmd_flush'] === '0', 'memcached was flushed');
preg_match_all('/cmdstat_(\w+)/', $redis->command('INFO', 'commandstats'), $commands);
check(array_intersect($commands[1], ['flushall', 'config']) === [], 'commands of Redis: ' . implode(' ', $commands[1]));

echo "-- the control: the attack works on hand-written commands --\n";
$stream = stream_socket_client("tcp://127.0.0.1:$memcached->port");
fwrite($stream, "get $attacks[0]\r\n");
fgets($stream);
fgets($stream);
var_dump($memcached->stats()['cmd_flush']);
?>
--EXPECT--
-- the control: the attack works on hand-written commands --
string(1) "1"

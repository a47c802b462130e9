--TEST--
TokenBucketStorageRedis::sendCommands() returns the replies of each server, and the cause of a failure
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
$redis = RedisServer::start(['--requirepass', 'geheim']);
$storage = new TokenBucketStorageRedis("redis://:geheim@127.0.0.1:$redis->port/1");
$show = function (array $answers) use ($redis): void {
    foreach ($answers as $server => $replies) {
        echo str_replace((string) $redis->port, 'PORT', $server), ' ', json_encode($replies, JSON_UNESCAPED_SLASHES), "\n";
    }
};
$show($storage->sendCommands([
    ['SET', 'a', "\0\n"], ['GET', 'a'], ['GET', 'b'], ['INCR', 'n'], ['MGET', 'n', 'b'], ['LPUSH', 'n', 'x'], ['PING'],
    ['EVAL', "return {1, {'a', redis.error_reply('E geheim <')}}", '0'],
], PATIENCE));
$show($storage->sendCommands([['GET', 'n']], PATIENCE, "localhost:$redis->port"));
$show($storage->sendCommands([['PING']], PATIENCE, '127.0.0.1:1'));
$show((new TokenBucketStorageRedis("redis://:geheimnis@127.0.0.1:$redis->port"))->sendCommands([['PING']], PATIENCE));
$show((new TokenBucketStorageRedis("redis+cluster://127.0.0.1:$redis->port,localhost:1"))->sendCommands([['PING']], PATIENCE));
foreach ([
    [[]], [['PING']], [[[]]], [[[1]]], [[['PING']], 0.0], [[['PING']], -1], [[['PING']], 3601], [[['PING']], NAN],
    [[['PING']], 1, ''], [[['PING']], 1, "a\n"], [[['PING']], 1, "\xff"], [[['PING']], 1, 'a:0'],
] as $arguments) {
    echo thrown(fn () => $storage->sendCommands(...$arguments)), "\n";
}
// Calls of limits use no connection that other commands may have changed.
$bucket = new TokenBucket(new TokenBucketStorageRedis("redis://:geheim@127.0.0.1:$redis->port/1", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw, denialCache: false), 'b', 100, 1e-6);
foreach (['PING', 'SELECT 5', 'MULTI', 'SUBSCRIBE x', 'MONITOR', 'HELLO 3', 'CLIENT REPLY OFF', 'RESET', 'AUTH geheim', 'multi'] as $place => $command) {
    check($bucket->attempt()->remaining === 99.0 - 2 * $place, "before $command");
    $storage->sendCommands([explode(' ', $command)], $command === 'CLIENT REPLY OFF' ? 0.05 : PATIENCE);
    check($bucket->attempt()->remaining === 98.0 - 2 * $place, "after $command");
}
$redis->signal('STOP');
$show($storage->sendCommands([['PING']], 0.01));
?>
--EXPECT--
redis://127.0.0.1:PORT/1 ["OK","\u0000\n",null,1,["1",null],{"error":"it answered: WRONGTYPE Operation against a key holding the wrong kind of value"},"PONG",[1,["a",{"error":"it answered: E *** \\x3c"}]]]
redis://localhost:PORT/1 ["1"]
redis://127.0.0.1:1/1 "cannot connect: Connection refused (os error 111)"
redis://127.0.0.1:PORT/0 "it answered: WRONGPASS invalid username-password pair or user is disabled."
redis://127.0.0.1:PORT/0 [{"error":"it answered: NOAUTH Authentication required."}]
redis://localhost:1/0 "cannot connect: Connection refused (os error 111)"
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #1 ($commands) must not be empty
TypeError: TokenBucketStorageRedis::sendCommands(): Argument #1 ($commands) must contain only lists of strings (3 times)
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #2 ($timeout) must be greater than 0 (2 times)
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #2 ($timeout) must be less than or equal to 3600
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #2 ($timeout) must be finite
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #3 ($server) must have a host
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #3 ($server) must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #3 ($server) must be valid UTF-8
ValueError: TokenBucketStorageRedis::sendCommands(): Argument #3 ($server) must have a port between 1 and 65535
redis://127.0.0.1:PORT/1 "no reply within the timeout"

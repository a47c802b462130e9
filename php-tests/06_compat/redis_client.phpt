--TEST--
fromClient() uses the address, credentials, database and prefix of a connected client
--EXTENSIONS--
igbinary
redis
--FILE--
<?php
require __DIR__ . '/redis_client.inc.php';

// Tests a client with a port, a password, a database and a prefix.
$redis = new Redis;
$redis->connect('127.0.0.1', $server->port);
$redis->auth('pa:ss@/%');
$redis->select(3);
$redis->setOption(Redis::OPT_PREFIX, 'app:');
$redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_IGBINARY);
$bucket = new TokenBucket($storage($redis), 'user', 10, 0.001);
check($bucket->consume(), 'a port');
check($keys(3) === ['app:tokenbucket:user'], 'the client\'s prefix stands before ours');
$own = TokenBucketStorageRedis::fromClient($redis, 'mine:', 5.0, TokenBucket\OnFailure::Throw, false, 0.5);
(new TokenBucket($own, 'user', 10, 0.001))->consume();
check($keys(3) === ['app:mine:user'], 'ours');

// Later changes of the client do not change the storage.
$kept = $storage($redis);
$redis->select(5);
$redis->close();
unset($redis);
check((new TokenBucket($kept, 'user', 10, 0.001))->consume() && $keys(3) === ['app:tokenbucket:user'], 'the client is gone');

// Tests clients with a socket, a user, and each form of credentials.
foreach ([['bob', 'secret'], ['pa:ss@/%'], 'pa:ss@/%', ['user' => 'bob', 'pass' => 'secret']] as $auth) {
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth($auth);
    check((new TokenBucket($storage($redis), 'user', 10, 0.001))->consume(), json_encode($auth));
    check($keys(0) === ['tokenbucket:user'], 'database 0');
}
$dump = print_r($storage($redis), true) . var_export((array) $storage($redis), true) . json_encode($storage($redis));
check(!str_contains($dump, 'secret') && !str_contains($dump, 'pa:ss'), $dump);
echo "done\n";
?>
--EXPECT--
done

--TEST--
Behind a proxy that places a script by its first key, calls on several keys read each key where it is
--EXTENSIONS--
pcntl
posix
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/sharding_proxy.php';

$servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
foreach (['one server' => array_slice($servers, 0, 1), 'three servers' => $servers] as $name => $shards) {
    $storage = new TokenBucketStorageRedis('redis://127.0.0.1:' . sharding_proxy(...$shards), "$name:", timeout: 30.0, onFailure: TokenBucket\OnFailure::Throw, denialCache: false);
    $bucket = fn (string $id, int $capacity) => new TokenBucket($storage, $id, $capacity, 1e-6);
    $granted = 0;
    for ($i = 0; $i < 30; $i++) {
        $granted += (int) TokenBucket::attemptAll([$bucket("user $i", 5), $bucket('site', 10)])->allowed;
    }
    echo "$name: $granted granted, user 0 has ", $bucket('user 0', 5)->peek()->remaining, "\n";
    $granted = 0;
    for ($i = 0; $i < 30; $i++) {
        $day = new TokenBucket\Quota($storage, 'day', 10, TokenBucket\Period::Year);
        $granted += (int) TokenBucket::attemptAll([[$bucket("burst $i", 9), 2], $day])->allowed;
    }
    echo "$name: $granted granted of a quota\n";

    // Two requests in each of the four minutes before this one. The window has two more minutes, so
    // none of them leaves it during the test.
    $port = sharding_proxy(...$shards);
    $client = stream_socket_client("tcp://127.0.0.1:$port");
    for ($ago = 1; $ago <= 4; $ago++) {
        $counter = "tokenbucket:$name rate192.0.2.1" . date('dHi', time() - 60 * $ago);
        fwrite($client, "*3\r\n$3\r\nSET\r\n$" . strlen($counter) . "\r\n$counter\r\n$1\r\n2\r\n");
        check(fgets($client) === "+OK\r\n", 'a counter');
    }
    fclose($client);
    $storage = new TokenBucketStorageRedis("redis://127.0.0.1:$port", timeout: 30.0, onFailure: TokenBucket\OnFailure::Throw);
    $window = new TokenBucket\Compat\MinuteWindow($storage, '192.0.2.1', "$name rate");
    $granted = 0;
    for ($i = 0; $i < 12; $i++) {
        $granted += (int) (thrown(fn () => $window->limitRequestsInMinutes(10, 7)) === 'nothing thrown');
    }
    echo "$name: $granted granted of a window\n";

    $leaky = new TokenBucket\Compat\LeakyBucket($storage, 3600, 3);
    $granted = 0;
    for ($i = 0; $i < 100; $i++) {
        $granted += (int) $leaky->request('client ' . $i % 20, $name);
    }
    echo "$name: $granted granted by leaky buckets\n";
}
?>
--EXPECT--
one server: 10 granted, user 0 has 4
one server: 10 granted of a quota
one server: 2 granted of a window
one server: 60 granted by leaky buckets
three servers: 10 granted, user 0 has 4
three servers: 10 granted of a quota
three servers: 2 granted of a window
three servers: 60 granted by leaky buckets

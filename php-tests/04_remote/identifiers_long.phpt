--TEST--
The time to hash a long identifier is not part of the timeout, and its key is short
--EXTENSIONS--
pcntl
--INI--
memory_limit=256M
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$long = str_repeat('x', 8 << 20);
foreach (['Redis' => "unix://$redis->socket", 'Memcached' => "127.0.0.1:$memcached->port"] as $kind => $address) {
    $class = "TokenBucketStorage$kind";
    $storage = new $class($address, 'p:', PATIENCE, TokenBucket\OnFailure::Throw, false);
    // The first call connects and sends the script.
    (new TokenBucket($storage, 'short', 5, 0.001))->consume();
    $one = new TokenBucket($storage, $long . 'a', 5, 0.001);
    $two = new TokenBucket($storage, $long . 'b', 5, 0.001);
    check([$one->consume(3), $one->consume(3), $two->consume(4)] === [true, false, true], "$kind: two buckets");
    $one->refund();
    check(TokenBucket::attemptAll([[$one, 3], [$two, 1]])->allowed, "$kind: all");
    check([$one->peek()->remaining, $two->peek()->remaining] === [0.0, 0.0], "$kind: left");
    $one->reset();
    check($one->peek()->remaining === 5.0, "$kind: reset");

    // If hashing were part of the timeout, no call with a timeout of half the hashing time could
    // succeed. On a busy machine, some calls fail anyway.
    $hashing = min(array_map(function () use ($one): float {
        $start = hrtime(true);
        $one->peek();
        return (hrtime(true) - $start) / 1e9;
    }, range(1, 5)));
    $hasty = new TokenBucket(new $class($address, 'q:', $hashing / 2, TokenBucket\OnFailure::Throw, false), $long, 1e6, 1);
    foreach ([
        'consume' => fn () => $hasty->consume(),
        'attemptAll' => fn () => TokenBucket::attemptAll([[$hasty, 3], [$hasty, 1]]),
        'attemptEach' => fn () => TokenBucket::attemptEach([$hasty, $hasty]),
        'refund' => fn () => $hasty->refund(),
        'reset' => fn () => $hasty->reset(),
    ] as $method => $call) {
        wait_for("$kind: $method() within $hashing s", fn () => thrown($call) === 'nothing thrown');
    }
}
$lengths = array_map(strlen(...), $redis->command('KEYS', 'p:*'));
sort($lengths);
echo json_encode($lengths), "\n";
// A key of 250 bytes is the longest that is not hashed.
foreach ([248, 249] as $length) {
    (new TokenBucket(new TokenBucketStorageRedis("unix://$redis->socket", 'p:', PATIENCE), str_repeat(' ', $length), 5, 1))->consume();
    var_dump($redis->command('EXISTS', 'p:' . str_repeat(' ', $length)));
}
?>
--EXPECT--
[7,250,250]
int(1)
int(0)

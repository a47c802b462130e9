--TEST--
The time to hash a long identifier is not part of the timeout
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
    $one = new TokenBucket($storage, $long, 5, 0.001);
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
echo "done\n";
?>
--EXPECT--
done

--TEST--
A decision takes at most one round trip, also for more than the capacity
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

function trips(Proxy $proxy, string $what, callable $call): void
{
    $before = $proxy->roundTrips();
    $call();
    echo $what, ': ', $proxy->roundTrips() - $before, "\n";
}

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$proxies = ['Redis' => new Proxy("unix://$redis->socket"), 'Memcached' => new Proxy("tcp://127.0.0.1:$memcached->port")];
alike(array_keys($proxies), function (string $name) use ($proxies) {
    $proxy = $proxies[$name];
    $class = "TokenBucketStorage$name";
    trips($proxy, 'a storage and a bucket', function () use ($name, $proxy, $class, &$bucket) {
        $address = ($name === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port";
        $storage = new $class($address, timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw, denialCache: false);
        $storage->prepare();
        $bucket = new TokenBucket($storage, 'x', 10, 0.001);
    });
    // The first call sends scripts to Redis.
    $before = $proxy->roundTrips();
    $bucket->consume();
    check($proxy->roundTrips() - $before === ($name === 'Redis' ? 2 : 1), "$name: the first call");
    foreach ([
        'more than the capacity' => fn () => check(!$bucket->consume(11) && !$bucket->attempt(10.5)->allowed && !$bucket->peek(11)->allowed, 'refused'),
        'a grant' => fn () => check($bucket->consume(), 'granted'),
        'attempt()' => fn () => check($bucket->attempt(2)->remaining === 6.0, 'granted'),
        'peek()' => fn () => check($bucket->peek()->remaining === 6.0, 'peeked'),
        'a denial' => fn () => check(!$bucket->consume(7), 'denied'),
    ] as $what => $call) {
        trips($proxy, $what, $call);
    }
    var_dump($proxy->counts()['connections']);
});
?>
--EXPECT--
a storage and a bucket: 0
more than the capacity: 3
a grant: 1
attempt(): 1
peek(): 1
a denial: 1
int(1)

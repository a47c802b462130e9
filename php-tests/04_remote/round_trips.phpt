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
    $make = fn (bool $denialCache) => new $class(
        ($name === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port",
        prefix: json_encode($denialCache),
        timeout: PATIENCE,
        onFailure: TokenBucket\OnFailure::Throw,
        denialCache: $denialCache,
        denialCacheMaxAge: LASTING,
    );
    trips($proxy, 'a storage and a bucket', function () use ($make, &$storage, &$bucket) {
        $storage = $make(false);
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
        'six grants' => fn () => check(array_map(fn () => $bucket->consume(), range(1, 6)) === array_fill(0, 6, true), 'granted'),
        'a denial' => fn () => check(!$bucket->consume(), 'denied'),
        'three denials' => fn () => check(!$bucket->consume() && !$bucket->consume() && !$bucket->consume(), 'denied'),
        'nothing, of an empty bucket' => fn () => check($bucket->consume(0), 'granted'),
    ] as $what => $call) {
        trips($proxy, $what, $call);
    }
    echo "-- with the denial cache --\n";
    $bucket = new TokenBucket($make(true), 'x', 10, 0.001);
    foreach ([
        'a grant' => fn () => check($bucket->consume(10), 'granted'),
        'a first denial' => fn () => check(!$bucket->consume(), 'denied'),
        'a hundred denials' => function () use ($bucket) {
            for ($i = 0; $i < 50; $i++) {
                check(!$bucket->consume() && !$bucket->attempt()->allowed, 'denied');
            }
        },
        'under another limit of the same span' => fn () => check(!(new TokenBucket($make(true), 'x', 20, 0.002))->consume(), 'denied'),
        'of another bucket object and storage' => fn () => check(!(new TokenBucket($make(true), 'x', 10, 0.001))->consume(), 'denied'),
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
six grants: 6
a denial: 1
three denials: 3
nothing, of an empty bucket: 1
-- with the denial cache --
a grant: 1
a first denial: 1
a hundred denials: 0
under another limit of the same span: 0
of another bucket object and storage: 0
int(1)

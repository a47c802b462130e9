--TEST--
MinuteWindow makes one round trip, ClientThrottle one on Redis and two on memcached
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\MinuteWindow;

const CALLS = 20;

$memcached = MemcachedServer::startUnix();
$redis = RedisServer::start();
$wires = [
    'memcached' => new Proxy("unix://$memcached->socket"),
    'redis' => new Proxy("unix://$redis->socket"),
];
$storages = [
    'memcached' => new TokenBucketStorageMemcached("127.0.0.1:{$wires['memcached']->port}", timeout: PATIENCE),
    'redis' => new TokenBucketStorageRedis("redis://127.0.0.1:{$wires['redis']->port}", timeout: PATIENCE),
];
foreach ($storages as $place => $storage) {
    $count = function (string $what, callable $call) use ($wires, $place) {
        // A new minute has new counters.
        in_one_minute(function () use ($what, $call, $wires, $place) {
            $id = uniqid();
            // The first call connects, and loads the script into Redis.
            $call($id, -1);
            $before = $wires[$place]->roundTrips();
            for ($i = 0; $i < CALLS; $i++) {
                $call($id, $i);
            }
            echo "$what, $place: ", ($wires[$place]->roundTrips() - $before) / CALLS, "\n";
        });
    };
    $count('window', fn (string $id, int $i) => allows(new MinuteWindow($storage, "$id $i"), 10, 30));
    $count('window, some denied', fn (string $id) => allows(new MinuteWindow($storage, $id), 10, 30));
    $throttle = new ClientThrottle($storage);
    $count('throttle', fn (string $id, int $i) => $throttle->check("$id $i", 10));
    $count('throttle, some limited', fn (string $id) => $throttle->check($id, 10));
}
?>
--EXPECT--
window, memcached: 1
window, some denied, memcached: 1
throttle, memcached: 2
throttle, some limited, memcached: 2
window, redis: 1
window, some denied, redis: 1
throttle, redis: 1
throttle, some limited, redis: 1

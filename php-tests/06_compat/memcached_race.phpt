--TEST--
Eight processes are granted exactly the limit, by MinuteWindow and ClientThrottle
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/servers.php';
require __DIR__ . '/../../tools/testkit/php/processes.php';
require __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\MinuteWindow;

const LIMIT = 1000;
const TRIES = 250;

$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
$storages = [
    'shared memory' => fn () => new TokenBucketStorageSharedMemory,
    'Redis' => fn () => new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE),
    'memcached' => fn () => new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE),
];
$limiters = [
    'window' => function (TokenBucketStorage $storage, string $id): callable {
        $window = new MinuteWindow($storage, $id);
        // In shared memory, tokens are refilled continuously. The window is weeks long, so that no
        // token is refilled during the test.
        $minutes = $storage instanceof TokenBucketStorageSharedMemory ? 40_000 : 10;
        return fn () => allows($window, LIMIT, $minutes);
    },
    'throttle' => function (TokenBucketStorage $storage, string $id): callable {
        $throttle = new ClientThrottle($storage);
        return fn () => !$throttle->check($id, LIMIT, 100_000_000);
    },
];
foreach ($storages as $place => $storage) {
    foreach ($limiters as $name => $limiter) {
        in_one_minute(function () use ($storage, $limiter, $name, $place) {
            $id = uniqid();
            $granted = in_processes(8, function (int $index, callable $barrier) use ($storage, $limiter, $id): int {
                $try = $limiter($storage(), $id);
                $granted = 0;
                for ($i = 0; $i < TRIES; $i++) {
                    if ($i % 50 === 0) {
                        $barrier();
                    }
                    $granted += (int) $try();
                }
                return $granted;
            });
            echo "$name, $place: ", array_sum($granted), min($granted) > 0 ? '' : ' some got nothing', "\n";
        });
    }
}
?>
--EXPECT--
window, shared memory: 1000
throttle, shared memory: 1000
window, Redis: 1000
throttle, Redis: 1000
window, memcached: 1000
throttle, memcached: 1000

--TEST--
Eight processes are granted exactly the limit, by each limiter in each database
--EXTENSIONS--
pcntl
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/processes.php';
require __DIR__ . '/../../tools/testkit/php/sql_servers.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateExceededException;
use TokenBucket\Compat\RateLimiter;

const LIMIT = 1000;
const AGES = 100_000_000;

$limiters = [
    'window' => function (TokenBucketStorage $storage): callable {
        $window = new MinuteWindow($storage, 'window');
        return function () use ($window): bool {
            try {
                $window->limitRequestsInMinutes(LIMIT, 40_000);
                return true;
            } catch (RateExceededException) {
                return false;
            }
        };
    },
    'throttle' => function (TokenBucketStorage $storage): callable {
        $throttle = new ClientThrottle($storage);
        return fn () => !$throttle->check('throttle', LIMIT, AGES);
    },
    'rate limiter' => function (TokenBucketStorage $storage): callable {
        $limiter = new RateLimiter('limiter', LIMIT, AGES);
        $limiter->redis = $storage;
        return $limiter->handler(...);
    },
    'leaky bucket' => function (TokenBucketStorage $storage): callable {
        $bucket = new LeakyBucket($storage, AGES / LIMIT, LIMIT);
        return fn () => $bucket->request('client', 'action');
    },
];
foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    $driver === 'sqlite' && $db->exec('PRAGMA journal_mode = WAL');
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    $db = null;
    foreach ($limiters as $name => $limiter) {
        $granted = in_processes(8, function (int $index, callable $barrier) use ($server, $limiter): int {
            $try = $limiter(new TokenBucketStoragePDO($server->connect(), 'limits'));
            $granted = 0;
            for ($i = 0; $i < 150; $i++) {
                if ($i % 50 === 0) {
                    $barrier();
                }
                $granted += (int) $try();
            }
            return $granted;
        });
        echo "$driver, $name: ", array_sum($granted), min($granted) > 0 ? '' : ' some got nothing', "\n";
    }

    // The same calls must get the same results in a database and in memory. The periods are hours,
    // so that no token is refilled.
    $db = $server->connect();
    foreach ([1, 2, 3] as $seed) {
        mt_srand($seed);
        $places = [new TokenBucketStoragePDO($db, 'limits', hints: false), new TokenBucketStorageMemory()];
        $limit = mt_rand(1, 12);
        $throttles = array_map(fn ($storage) => new ClientThrottle($storage), $places);
        $leaky = array_map(fn ($storage) => new LeakyBucket($storage, 36_000, $limit), $places);
        for ($call = 0; $call < 60; $call++) {
            [$id, $window] = ["throttled $seed " . mt_rand(0, 1), 36_000 * mt_rand(1, 3)];
            $said = array_map(fn ($throttle) => $throttle->check($id, $limit, $window), $throttles);
            check($said[0] === $said[1], "$driver, seed $seed, call $call: throttle " . json_encode($said));
            $client = 'client ' . mt_rand(0, 2);
            $said = array_map(fn ($bucket) => $bucket->request($client, "action $seed"), $leaky);
            check($said[0] === $said[1], "$driver, seed $seed, call $call: leaky bucket " . json_encode($said));
        }
    }
}
?>
--EXPECT--
mysql, window: 1000
mysql, throttle: 1000
mysql, rate limiter: 1000
mysql, leaky bucket: 1000
pgsql, window: 1000
pgsql, throttle: 1000
pgsql, rate limiter: 1000
pgsql, leaky bucket: 1000
sqlite, window: 1000
sqlite, throttle: 1000
sqlite, rate limiter: 1000
sqlite, leaky bucket: 1000

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
require __DIR__ . '/races.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;

foreach (sql_servers() as $driver => $server) {
    $db = $server->connect();
    $driver === 'sqlite' && $db->exec('PRAGMA journal_mode = WAL');
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    $db = null;
    foreach (KINDS as $name) {
        race($name, fn () => new TokenBucketStoragePDO($server->connect(), 'limits'), $driver, 150);
    }

    // The same calls must get the same results in a database and in memory. The periods are hours,
    // so that no token is refilled.
    $db = $server->connect();
    foreach ([1, 2, 3] as $seed) {
        mt_srand($seed);
        $places = [new TokenBucketStoragePDO($db, 'limits', denialCache: false), new TokenBucketStorageMemory()];
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
echo "done\n";
?>
--EXPECT--
done

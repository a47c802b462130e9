--TEST--
The fallback of a killed Redis starts from the debt that this host knows
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$log = tempnam(sys_get_temp_dir(), 'tokenbucket-debt-');
register_shutdown_function(fn() => unlink($log));
ini_set('error_log', $log);
$redis = RedisServer::start();
// With denialCacheMaxAge 0, entries of the denial cache deny nothing by themselves.
$storage = new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE, denialCacheMaxAge: 0);
$bucket = fn(string $name) => new TokenBucket($storage, $name, 10, 1);
$calls = [
    'consume' => fn($bucket) => $bucket->consume() ? 'granted' : 'denied',
    'attemptAll' => fn($bucket) => TokenBucket::attemptAll([$bucket, [$bucket, 0]])->allowed ? 'granted' : 'denied',
    'attemptEach' => fn($bucket) => TokenBucket::attemptEach([$bucket])[0]->allowed ? 'granted' : 'denied',
    'reserve' => fn($bucket) => $bucket->reserve(1, 60)->decision->allowed ? 'granted' : 'denied',
    'refund' => function ($bucket) {
        $bucket->refund();
        return $bucket->consume() ? 'granted' : 'denied';
    },
    'reset' => function ($bucket) {
        $bucket->reset();
        return $bucket->consume() ? 'granted' : 'denied';
    },
];
echo "-- a first outage --\n";
$redis->kill();
foreach ($calls as $name => $call) {
    $call($bucket("again $name"));
}
$redis->restart();
wait_for('the store is used again', fn () => !$bucket('probe')->attempt()->fallback);
foreach ($calls as $name => $call) {
    $bucket("again $name")->charge(1000);
    $bucket("new $name")->charge(1000);
}
$bucket('no debt')->consume();
echo "-- a second outage --\n";
$redis->kill();
foreach ($calls as $name => $call) {
    echo "$name: ", $call($bucket("again $name")), ', ', $call($bucket("new $name")), "\n";
}
$decision = $bucket('no debt')->attempt();
echo 'no debt: ', $decision->allowed && $decision->fallback ? 'granted by the fallback' : 'not granted', "\n";
?>
--EXPECT--
-- a first outage --
-- a second outage --
consume: denied, denied
attemptAll: denied, denied
attemptEach: denied, denied
reserve: denied, denied
refund: denied, denied
reset: granted, granted
no debt: granted by the fallback

--TEST--
attemptAll() over shared memory and a Redis with delayed replies exceeds no bound and loses only tokens of killed processes
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0' || PHP_DEBUG) {
    die('skip slow');
}
?>
--INI--
opcache.jit=disable
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/batch_campaign.php';

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$storages = [
    fn () => new TokenBucketStorageSharedMemory,
    fn () => new TokenBucketStorageRedis("redis://127.0.0.1:$proxy->port", 'campaign:', 5.0, TokenBucket\OnFailure::Throw),
];
$buckets = [];
foreach ([[900_000, 0.001], [20, 20_000], [5, 10_000], [100, 40_000]] as $quota) {
    foreach ($storages as $storage) {
        $buckets[] = [...$quota, $storage];
    }
}
$calls = BatchCampaign::size(5_000);

$before = $proxy->roundTrips();
$campaign = (new BatchCampaign($buckets, TokenBucket::attemptAll(...), $proxy))->run($calls);
$verdict = $campaign->judge();
$text = json_encode($verdict) . " in $campaign->seconds s, $campaign->kills kills";
check($verdict['above'] === 0, "above the bound: $text");
check($verdict['excess'] === 0, "lost or gained tokens: $text");
check($verdict['lost'] <= 9 * $campaign->kills && $campaign->kills > 0, "lost by killed calls: $text");
check($verdict['wrong'] < 0.001 * $verdict['calls'], "wrong denials: $text");
check($verdict['granted'] > 0.1 * $verdict['calls'], "not contended: $text");
// A batch takes at most one round trip to ask whether the buckets have the tokens, one to take
// them, and one to give them back. Each process also needs a second round trip for each script that
// the server does not know yet.
$trips = $proxy->roundTrips() - $before;
check($trips <= 3 * $verdict['calls'] + 3 * (8 + $campaign->kills), "$trips round trips: $text");
echo "done\n";
?>
--EXPECT--
done

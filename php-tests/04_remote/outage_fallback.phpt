--TEST--
Decision::$fallback is true if the failure policy decided instead of the store
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

Warnings::collect();

/** Returns the names of the calls whose decision is a fallback. */
function fallbacks(Store $store, OnFailure $policy, string $name): string
{
    $make = fn(string $id, int $capacity = 5) => $store->bucket($policy, "$name $id", $capacity);
    $memory = new TokenBucket(new TokenBucketStorageMemory, 'x', 2, 1);
    $decisions = [
        'attempt' => $make('attempt')->attempt(),
        // This call needs no store.
        'more than the capacity' => $make('more', 1)->attempt(2),
        'peek' => $make('peek')->peek(),
        'wait' => $make('wait')->wait(0),
        'all of one server' => TokenBucket::attemptAll([$make('a', 1), $make('b')]),
        'all, this server is tightest' => TokenBucket::attemptAll([$make('c', 1), $memory]),
        'all, memory is tightest' => TokenBucket::attemptAll([$make('d', 9), $memory]),
    ];
    return implode(', ', array_keys(array_filter($decisions, fn($decision) => $decision->fallback)));
}

$policies = [OnFailure::Local, OnFailure::Allow, OnFailure::Deny];
foreach (Store::each() as $kind => $store) {
    foreach ($policies as $policy) {
        echo "$kind, $policy->name: ", fallbacks($store, $policy, "before $policy->name") ?: 'none', "\n";
    }
    $store->server->kill();
    foreach ($policies as $policy) {
        echo "$kind killed, $policy->name: ", fallbacks($store, $policy, "killed $policy->name"), "\n";
    }
    $store->server->restart();
    check($store->is_back(), 'back');
    echo "$kind back: ", fallbacks($store, OnFailure::Local, 'back') ?: 'none', "\n";
}

echo "-- a cached denial counts as a decision of the store --\n";
$server = RedisServer::start();
$bucket = new TokenBucket(new TokenBucketStorageRedis("unix://$server->socket", timeout: PATIENCE, denialCacheMaxAge: LASTING), 'x', 1, 0.001);
$bucket->consume();
$bucket->consume();
$changes = changes(function () use ($bucket, &$decision) {
    $decision = $bucket->attempt();
});
echo $changes, ': ', json_encode($decision->fallback), "\n";

echo "-- storages that cannot fail, and one that is written in PHP --\n";
$userland = new GrantingStorage;
foreach ([new TokenBucketStorageSharedMemory, new TokenBucketStorageMemory, $userland] as $storage) {
    var_dump((new TokenBucket($storage, 'y', 1, 1))->attempt()->fallback);
}
?>
--EXPECT--
Redis, Local: none
Redis, Allow: none
Redis, Deny: none
Redis killed, Local: attempt, peek, wait, all of one server, all, this server is tightest
Redis killed, Allow: attempt, peek, wait, all of one server, all, this server is tightest
Redis killed, Deny: attempt, peek, wait, all of one server, all, this server is tightest, all, memory is tightest
Redis back: none
Memcached, Local: none
Memcached, Allow: none
Memcached, Deny: none
Memcached killed, Local: attempt, peek, wait, all of one server, all, this server is tightest
Memcached killed, Allow: attempt, peek, wait, all of one server, all, this server is tightest
Memcached killed, Deny: attempt, peek, wait, all of one server, all, this server is tightest, all, memory is tightest
Memcached back: none
-- a cached denial counts as a decision of the store --
cached +1: false
-- storages that cannot fail, and one that is written in PHP --
bool(false)
bool(false)
bool(false)

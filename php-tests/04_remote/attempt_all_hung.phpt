--TEST--
attemptAll() waits for several hung servers together, and servers that work decide their buckets
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/servers.php';
require __DIR__ . '/../../tools/testkit/php/proxy.php';

use TokenBucket\OnFailure;

const SERVERS = 10;
$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$other = RedisServer::start();
$kinds = [
    'Redis' => [$redis, fn (int $port, string $prefix, float $timeout) => new TokenBucketStorageRedis("redis://127.0.0.1:$port", $prefix, $timeout, OnFailure::Local, false)],
    'memcached' => [$memcached, fn (int $port, string $prefix, float $timeout) => new TokenBucketStorageMemcached("127.0.0.1:$port", $prefix, $timeout, OnFailure::Local, false)],
];
foreach ($kinds as $name => [$server, $make]) {
    // With the timeout of 600 s below, a call that waited for one server after the other would
    // contact only the first server before wait_for() fails.
    $proxies = array_map(fn () => new Proxy("tcp://127.0.0.1:$server->port"), range(1, SERVERS));
    foreach ($proxies as $proxy) {
        $proxy->set(Proxy::SWALLOW_REQUESTS);
    }
    foreach (['attemptAll', 'attemptEach'] as $method) {
        $before = array_map(fn ($proxy) => $proxy->counts()['requests'], $proxies);
        $child = pcntl_fork();
        if ($child === 0) {
            $storages = array_map(fn ($proxy) => $make($proxy->port, 'hung:', 600.0), $proxies);
            $buckets = array_map(fn ($storage) => new TokenBucket($storage, 'x', 5, 1e-6), $storages);
            TokenBucket::$method($buckets);
            exit(0);
        }
        wait_for("$name: $method() asks all servers", function () use ($proxies, $before): bool {
            $requests = array_map(fn ($proxy) => $proxy->counts()['requests'], $proxies);
            return min(array_map(fn ($now, $then) => $now - $then, $requests, $before)) > 0;
        });
        exec("kill -KILL $child");
        pcntl_waitpid($child, $status);
    }

    // Working servers decide their buckets, whether these come before or after the buckets on hung
    // servers.
    foreach (['first', 'last'] as $place => $where) {
        $hung = array_map(fn ($proxy) => new TokenBucket($make($proxy->port, "$where:", 4.0 + $place), 'x', 5, 1e-6), $proxies);
        $fine = [
            new TokenBucket($make($server->port, "$name:", 4.0 + $place), "$where 1", 5, 1e-6),
            new TokenBucket($make($server->port, "$name:", 4.0 + $place), "$where 2", 5, 1e-6),
            new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.1:$other->port", "$name:", 4.0 + $place, OnFailure::Local, false), $where, 5, 1e-6),
        ];
        $list = $hung;
        array_splice($list, SERVERS * $place, 0, $fine);
        check(TokenBucket::attemptAll($list)->allowed, "$name, $where: granted");
        foreach ($fine as $index => $bucket) {
            $peek = $bucket->peek();
            check([$peek->remaining, $peek->fallback] === [4.0, false], "$name, $where, $index: decided by its store: $peek->remaining");
        }
    }
    echo "$name\n";
}
foreach (TokenBucket\status()['stores'] as $store) {
    foreach ([$redis, $memcached, $other] as $server) {
        if (str_contains($store['name'], ":$server->port")) {
            check(array_sum($store['causes']) === 0, "no failure of {$store['name']}");
        }
    }
}
?>
--EXPECT--
Redis
memcached

--TEST--
attemptEach() takes one round trip for each Redis and memcached server
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = [MemcachedServer::startTcp(), MemcachedServer::startTcp()];
$proxies = ['Redis' => [new Proxy("unix://$redis->socket")], 'Memcached' => array_map(fn ($server) => new Proxy("tcp://127.0.0.1:$server->port"), $memcached)];
$storage = function (string $kind, string $prefix, bool $denialCache = false) use ($proxies): TokenBucketStorage {
    $servers = array_map(fn ($proxy) => "127.0.0.1:$proxy->port", $proxies[$kind]);
    $servers[0] = ($kind === 'Redis' ? 'redis://' : '') . $servers[0];
    return new ("TokenBucketStorage$kind")(implode(',', $servers), $prefix, PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, LASTING);
};
$trips = function (string $kind, string $what, callable $call) use ($proxies): void {
    $before = array_map(fn ($proxy) => $proxy->counts(), $proxies[$kind]);
    $call();
    $diff = fn ($proxy, $before) => $proxy->counts()['round_trips'] - $before['round_trips'];
    $trips = array_map($diff, $proxies[$kind], $before);
    // The ports decide which server has a key, so the order of the servers varies.
    rsort($trips);
    echo "$what: ", implode(' and ', $trips), "\n";
};
$reasons = fn (array $decisions) => array_count_values(array_column($decisions, 'reason'));
foreach (array_keys($proxies) as $kind) {
    echo "-- $kind --\n";
    $buckets = [];
    foreach (range(0, 39) as $i) {
        // Buckets with different prefixes and quotas need no additional round trip.
        $buckets["key $i"] = [new TokenBucket($storage($kind, $i % 2 ? 'a:' : 'b:'), "x$i", 2 + $i, 1e-6), 2];
    }
    $each = fn () => TokenBucket::attemptEach($buckets);
    $trips($kind, 'new connections', fn () => check(array_column($each(), 'remaining') === array_map(floatval(...), range(0, 39)), 'all'));
    $trips($kind, 'some denied', function () use ($each, $reasons) {
        $said = $each();
        check($reasons($said) === ['insufficient_tokens' => 2, 'granted' => 38], json_encode($reasons($said)));
        check([$said['key 1']->remaining, $said['key 2']->remaining] === [1.0, 0.0], 'left');
    });
    if ($kind === 'Redis') {
        $redis->command('SCRIPT', 'FLUSH');
        $trips($kind, 'the script is unknown', fn () => check($reasons($each()) === ['insufficient_tokens' => 4, 'granted' => 36], 'some'));
        $commands = fn () => preg_match('/cmdstat_eval:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $match) ? $match[1] : 0;
        check($commands() === '2', 'EVAL was sent once for each: ' . $commands());
    }
    $bucket = new TokenBucket($storage($kind, 't:'), 'twice', 10, 1e-6);
    $trips($kind, 'one bucket many times', function () use ($bucket, $reasons) {
        $said = TokenBucket::attemptEach([[$bucket, 4], [$bucket, 4], [$bucket, 4], [$bucket, 2], $bucket]);
        check(array_column($said, 'remaining') === [6.0, 2.0, 2.0, 0.0, 0.0], json_encode(array_column($said, 'remaining')));
        check(array_column($said, 'allowed') === [true, true, false, true, false], 'in order');
    });
    $trips($kind, 'more than the capacity', fn () => TokenBucket::attemptEach([[$bucket, 11], [$bucket, 12]]));
    $cached = new TokenBucket($storage($kind, 't:', true), 'twice', 10, 1e-6);
    $trips($kind, 'a first denial and a cached one', fn () => TokenBucket::attemptEach([$cached]) && TokenBucket::attemptEach([$cached, $cached]));
    $many = array_map(fn ($i) => new TokenBucket($storage($kind, 'm:'), "$i", 1, 1e-6), range(1, 500 * count($proxies[$kind])));
    if ($kind === 'Redis') {
        $trips($kind, '40 of 500 buckets', fn () => TokenBucket::attemptEach(array_slice($many, 0, 40)));
        // The server replies before it has read the whole pipeline, so trips are not counted.
        check($reasons(TokenBucket::attemptEach($many)) === ['insufficient_tokens' => 40, 'granted' => 460], 'the others');
        check($reasons(TokenBucket::attemptEach([...$many, $bucket])) === ['insufficient_tokens' => 501], 'none');
    } else {
        check($reasons(TokenBucket::attemptEach($many)) === ['granted' => 1000], 'all');
    }

    // Processes share the buckets, and each call lists every bucket twice.
    $names = array_map(fn ($i) => "race $i", range(0, 9));
    $granted = in_processes(4, function () use ($storage, $kind, $names) {
        $buckets = array_map(fn ($name) => new TokenBucket($storage($kind, 'r:'), $name, 100, 1e-6), [...$names, ...$names]);
        $granted = array_fill_keys($names, 0);
        for ($i = 0; $i < 40; $i++) {
            foreach (TokenBucket::attemptEach($buckets) as $place => $decision) {
                $granted[$names[$place % 10]] += $decision->allowed;
                check($decision->allowed || $decision->reason !== 'unavailable', $decision->reason);
            }
        }
        return $granted;
    });
    $sums = array_map(fn ($name) => array_sum(array_column($granted, $name)), $names);
    check($sums === array_fill(0, 10, 100), "$kind: granted " . json_encode($sums));
}
echo "-- all storages --\n";
$local = new TokenBucketStorageMemory;
$mixed = fn () => array_map(
    fn ($storage) => new TokenBucket($storage, 'mixed', 3, 1e-6),
    [$storage('Redis', 'z:'), $local, $storage('Memcached', 'z:'), $storage('Redis', 'y:'), new TokenBucketStorageSharedMemory],
);
$trips('Redis', 'mixed', fn () => check(array_column(TokenBucket::attemptEach($mixed()), 'remaining') === [2.0, 2.0, 2.0, 2.0, 2.0], 'left'));
check(array_column(TokenBucket::attemptEach($mixed()), 'remaining') === [1.0, 1.0, 1.0, 1.0, 1.0], 'left');
?>
--EXPECT--
-- Redis --
new connections: 2
some denied: 1
the script is unknown: 2
one bucket many times: 1
more than the capacity: 1
a first denial and a cached one: 1
40 of 500 buckets: 1
-- Memcached --
new connections: 1 and 1
some denied: 1 and 1
one bucket many times: 1 and 0
more than the capacity: 1 and 0
a first denial and a cached one: 1 and 0
-- all storages --
mixed: 1

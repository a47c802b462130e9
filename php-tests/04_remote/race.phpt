--TEST--
Eight processes on one bucket on Redis or memcached are granted exactly its capacity
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const TRIES = 5000;
const CAPACITY = 1000;

$redis = RedisServer::start();
$memcached = MemcachedServer::startUnix();
/** By kind: the class, the server, and the number of requests that it has received. */
$stores = [
    'redis' => [TokenBucketStorageRedis::class, $redis, function () use ($redis): int {
        preg_match('/cmdstat_evalsha:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $match);
        return (int) ($match[1] ?? 0);
    }],
    // Each request ends with one read, so the reads count the requests.
    'memcached' => [TokenBucketStorageMemcached::class, $memcached, fn (): int => (int) $memcached->stats()['cmd_get']],
];
foreach ($stores as $kind => [$class, $server, $requests]) {
    $start = microtime(true);
    foreach ([[0, true], [0, false], [1, true], [1, false]] as [$round, $denialCache]) {
        if ($round > 0 && microtime(true) - $start > 4) {
            continue;
        }
        $storage = new $class(
            "unix://$server->socket",
            prefix: json_encode($denialCache),
            timeout: PATIENCE,
            onFailure: TokenBucket\OnFailure::Throw,
            denialCache: $denialCache,
            denialCacheMaxAge: LASTING,
        );
        $bucket = new TokenBucket($storage, "round $round", CAPACITY, 1e-6);
        $before = TokenBucket\status()['remote'];
        $trips = $requests();
        $granted = granted_in_race(fn () => $bucket->consume(...), TRIES);
        $after = TokenBucket\status()['remote'];
        check(array_sum($granted) === CAPACITY, "$kind: granted " . array_sum($granted));
        check(min($granted) > 0, "$kind: some got nothing: " . json_encode($granted));
        $change = fn (string $name) => $after[$name] - $before[$name];
        check($change('failed') === 0, "$kind: failures: " . $change('failed'));
        check($change('asked') + $change('cached') === 8 * TRIES, "$kind: each call contacts the store or the denial cache");
        if ($round === 0) {
            $asked = $change('asked') / (8 * TRIES);
            check($denialCache ? $asked < 0.1 : $asked === 1, "$kind: the store was contacted for $asked of all calls");
            $trips = $requests() - $trips;
            check($trips >= $change('asked'), "$kind: $trips requests arrived");
            check($trips < CAPACITY * 8 + ($denialCache ? 0 : 8 * TRIES), "$kind: $trips round trips");
        }
    }
}

// The control: a limiter that reads, checks and then writes must exceed the limit in the same race.
$limiter = function () use ($redis): callable {
    $stream = stream_socket_client("unix://$redis->socket");
    $command = function (string $line) use ($stream): string {
        fwrite($stream, "$line\r\n");
        return fgets($stream);
    };
    return function () use ($stream, $command): bool {
        $command('GET left');
        $left = (int) fgets($stream);
        return $left > 0 && $command('SET left ' . ($left - 1)) !== '';
    };
};
for ($round = 0, $granted = 0; $granted <= CAPACITY && $round < 10; $round++) {
    $redis->command('SET', 'left', (string) CAPACITY);
    $granted = array_sum(granted_in_race($limiter, 1000));
}
check($granted > CAPACITY, "the control granted $granted");
echo "done\n";
?>
--EXPECT--
done

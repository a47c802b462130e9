<?php
/**
 * Compares TokenBucket on Redis and memcached with one round trip of PHP's own clients. Also
 * compares TokenBucket with limiters in plain PHP: a JSON bucket in Redis under WATCH, and a bucket
 * in memcached behind a lock.
 *
 * One process measures all rows in one run, on servers that it starts itself. Nothing is
 * subtracted. The rows are sampled alternately, about a millisecond at a time. Ratios are computed
 * round by round.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../testkit/php/plain_limiters.php';
require __DIR__ . '/../testkit/php/cluster.php';

const ROUNDS = 10;
/**
 * The samples of a row in a round. Each sample is TURNS * 20 calls, which take less time than a
 * scheduler's time slice.
 */
const SAMPLES = 50;
const TURNS = 2;
/**
 * The quantile that replaces the samples of a round. It is low because other load only adds time.
 */
const LEAST = 0.1;
/** The turns of the loop for statements that take a fraction of a microsecond. */
const MANY_TURNS = 100;
/**
 * A billion tokens, so that the bucket is never empty here. At one token a second, its span is
 * about 30 years.
 */
const MUCH = 1_000_000_000;
/**
 * The greatest age of a cached denial in seconds. This age is longer than a run, so that cached
 * denials never expire.
 */
const DENIAL_CACHE_AGE = 600.0;
/** The files that make up the Redis script for takes. */
const TAKE = [
    __DIR__ . '/../../crates/stores/src/remote/redis/take.lua',
    __DIR__ . '/../../crates/stores/src/remote/redis/record.lua',
    __DIR__ . '/../../crates/stores/src/remote/redis/bucket.lua',
    __DIR__ . '/../../crates/stores/src/remote/redis/step.lua',
];

/** Creates a storage that throws if it fails, with a prefix of its own for each server. */
function storage(string $class, string $server): TokenBucketStorage
{
    return new $class($server, crc32($server) . ':', PATIENCE, TokenBucket\OnFailure::Throw, true, DENIAL_CACHE_AGE);
}

function granting(TokenBucketStorage $storage): TokenBucket
{
    return new TokenBucket($storage, 'granting', MUCH, 1);
}

function denying(TokenBucketStorage $storage): TokenBucket
{
    $bucket = new TokenBucket($storage, 'denying', 1, 1e-6);
    must($bucket->consume() && !$bucket->consume(), 'a bucket of one token is not empty after one');
    return $bucket;
}

/**
 * @return list<string> the words of the command that the extension sends for a bucket with a record
 */
function command_of(TokenBucket $bucket, RedisServer $server): array
{
    $bucket->consume();
    $stream = stream_socket_client("unix://$server->socket");
    stream_set_timeout($stream, 5);
    fwrite($stream, "MONITOR\r\n");
    must(fgets($stream) === "+OK\r\n", 'MONITOR failed');
    $bucket->consume();
    preg_match_all('/"([^"]*)"/', fgets($stream), $words);
    return $words[1];
}

/**
 * Returns the variables that phpredis needs to run the same script as the extension.
 *
 * @return array<string, mixed> the client, the hash of the script, and the arguments, with another
 *         key of the same length
 */
function script_of(TokenBucket $bucket, RedisServer $server, Redis $redis): array
{
    $words = command_of($bucket, $server);
    [$command, $hash, $keys, $key] = $words;
    must($command === 'EVALSHA' && $keys === '1', 'the extension does not send EVALSHA');
    must($redis->script('load', implode('', array_map('file_get_contents', TAKE))) === $hash, 'the extension has another script');
    return ['redis' => $redis, 'hash' => $hash, 'words' => [strrev($key), ...array_slice($words, 4)]];
}

/** @return array<string, Row> */
function redis_rows(RedisServer $server, bool $tcp): array
{
    $redis = new Redis;
    $tcp ? $redis->connect('127.0.0.1', $server->port) : $redis->connect($server->socket);
    $store = storage('TokenBucketStorageRedis', $tcp ? "redis://127.0.0.1:$server->port" : "unix://$server->socket");
    $granting = granting($store);
    $watching = new WatchingRateLimiter($redis, $tcp ? 'document tcp' : 'document unix', MUCH, 60);
    must($watching->handler(), 'the bucket under WATCH denies');
    $script = script_of($granting, $server, $redis);
    return [
        'ping' => new Row('phpredis ping()', '$redis->ping()', ['redis' => $redis], TURNS),
        'script' => new Row('phpredis evalSha() of our script', '$redis->evalSha($hash, $words, 1)', $script, TURNS),
        'granted' => new Row('consume() on Redis, granted', '$bucket->consume()', ['bucket' => $granting], TURNS),
        'denied' => new Row('consume() on Redis, denied from the cache', '$bucket->consume()', ['bucket' => denying($store)], MANY_TURNS),
        'document' => new Row('JSON bucket under WATCH, by phpredis', '$limiter->handler()', ['limiter' => $watching], 1),
    ];
}

/** @return array<string, Row> */
function memcached_rows(MemcachedServer $server, bool $tcp): array
{
    $memcached = new Memcached;
    $memcached->setOptions([
        Memcached::OPT_BINARY_PROTOCOL => false,
        Memcached::OPT_TCP_NODELAY => true,
        Memcached::OPT_NO_BLOCK => false,
    ]);
    $memcached->addServer($tcp ? '127.0.0.1' : $server->socket, $server->port);
    must($memcached->set('floor', '1790000000000000'), 'memcached stores nothing');
    must($memcached->get('floor') === '1790000000000000', 'memcached has lost a value');
    $memcache = new Memcache;
    // ext-memcache creates dynamic properties, which PHP 8.2 deprecates.
    @$memcache->connect($tcp ? '127.0.0.1' : "unix://$server->socket", $server->port);
    $limiter = ['limiter' => new PlainClientThrottle($memcache)];
    must(!$limiter['limiter']->check('document', MUCH, 60), 'the bucket behind a lock denies');
    $store = storage('TokenBucketStorageMemcached', $tcp ? "127.0.0.1:$server->port" : "unix://$server->socket");
    return [
        'get' => new Row('ext-memcached get()', '$memcached->get("floor")', ['memcached' => $memcached], TURNS),
        'granted' => new Row('consume() on memcached, granted', '$bucket->consume()', ['bucket' => granting($store)], TURNS),
        'denied' => new Row('consume() on memcached, denied from the cache', '$bucket->consume()', ['bucket' => denying($store)], MANY_TURNS),
        'document' => new Row('bucket behind a lock, by ext-memcache', '$limiter->check("document", ' . MUCH . ', 60)', $limiter, 1),
    ];
}

/**
 * Returns rows for servers that no other row uses: a single server, or the servers of a cluster.
 *
 * @return array<string, Row>
 */
function rows_alone(string $place, string $dsn, RedisServer ...$servers): array
{
    $granting = granting(storage('TokenBucketStorageRedis', $dsn));
    $granting->consume();
    $keeps = fn (RedisServer $server) => $server->command('DBSIZE') === 1;
    [$server] = array_values(array_filter($servers, $keeps));
    $redis = new Redis;
    $redis->connect('127.0.0.1', $server->port);
    $script = script_of($granting, $server, $redis);
    // Another key might have its slot on another server.
    $script['words'][0] = strrev($script['words'][0]);
    return [
        'script' => new Row("phpredis evalSha() of our script, $place", '$redis->evalSha($hash, $words, 1)', $script, TURNS),
        'granted' => new Row("consume() on $place, granted", '$bucket->consume()', ['bucket' => $granting], TURNS),
    ];
}

/** Returns the microseconds of the server's processor that one call of a command takes. */
function server_time(RedisServer $server, string $command, callable $call): float
{
    $least = INF;
    for ($round = 0; $round < ROUNDS; $round++) {
        $server->command('CONFIG', 'RESETSTAT');
        for ($i = 0; $i < 2_000; $i++) {
            $call();
        }
        must(preg_match("/^cmdstat_$command:calls=2000,.*usec_per_call=([\d.]+)/m", $server->command('INFO', 'commandstats'), $found) === 1, "2,000 calls of $command");
        $least = min($least, (float) $found[1]);
    }
    return $least;
}

/** Prints and saves the time of the server's processor for our script and for other commands. */
function report_server_time(RedisServer $server): void
{
    $redis = new Redis;
    $redis->connect($server->socket);
    $nothing = $redis->script('load', 'return 1');
    $store = new TokenBucketStorageRedis("unix://$server->socket", 'time:', PATIENCE, TokenBucket\OnFailure::Throw, false);
    $granting = granting($store);
    $denying = denying($store);
    echo "\nThe server's processor, µs for each command (INFO commandstats, least of the rounds)\n";
    Record::title("The server's processor");
    foreach ([
        'INCR' => ['incr', fn () => $redis->incr('time:count')],
        'SET with PX' => ['set', fn () => $redis->set('time:text', '1790000000000000', ['px' => 60_000])],
        'EVALSHA of `return 1`' => ['evalsha', fn () => $redis->evalSha($nothing, ['time:none'], 1)],
        'TokenBucket, granted' => ['evalsha', fn () => $granting->consume()],
        'TokenBucket, denied' => ['evalsha', fn () => $denying->consume()],
    ] as $name => [$command, $call]) {
        $call();
        $micros = server_time($server, $command, $call);
        printf("%-41s %8.2f\n", $name, $micros);
        Record::row($name, ['us' => $micros]);
    }
}

$redis = RedisServer::start();
$nodes = start_cluster();
$single = RedisServer::start();
$alone = rows_alone('one server', "redis://127.0.0.1:$single->port", $single);
$in_cluster = rows_alone('a cluster', "redis+cluster://127.0.0.1:{$nodes[0]->port}", ...$nodes);
$memory = ['bucket' => granting(new TokenBucketStorageSharedMemory)];
$shared = new Row('consume() in shared memory, granted', '$bucket->consume()', $memory, MANY_TURNS);
$transports = [];
foreach (['a Unix socket' => false, 'TCP, 127.0.0.1' => true] as $name => $tcp) {
    $memcached = $tcp ? MemcachedServer::startTcp() : MemcachedServer::startUnix();
    $transports[$name] = [redis_rows($redis, $tcp), memcached_rows($memcached, $tcp)];
}
$rows = [$shared, ...array_values($alone), ...array_values($in_cluster)];
foreach ($transports as [$on_redis, $on_memcached]) {
    array_push($rows, ...array_values($on_redis), ...array_values($on_memcached));
}

$versions = array_map(phpversion(...), ['tokenbucket', 'redis', 'memcached', 'memcache']);
printf("PHP %s, tokenbucket %s, phpredis %s, ext-memcached %s, ext-memcache %s\n", PHP_VERSION, ...$versions);
printf("%d rounds; a round's figure is the 10th percentile of %d samples\n", ROUNDS, SAMPLES);
echo "ext-memcached: text protocol, OPT_TCP_NODELAY, no OPT_NO_BLOCK\n";
printf("Client and servers on processor %s\n", processors());

$before = TokenBucket\status()['remote'];
measure($rows, ROUNDS * SAMPLES);
$counted = array_map(fn (int $now, int $then) => $now - $then, TokenBucket\status()['remote'], $before);
$counted = array_combine(array_keys($before), $counted);
$calls = fn (string $row) => array_sum(array_map(fn (array $of) => $of[0][$row]->calls + $of[1][$row]->calls, $transports));
$granted = $calls('granted') + $alone['granted']->calls + $in_cluster['granted']->calls;
must($counted['asked'] === $granted, 'not every grant contacted the store, or a denial did');
must($counted['cached'] === $calls('denied'), 'not every denial came from the denial cache');
must($counted['failed'] === 0, 'a store failed');
array_map(fn (Row $row) => $row->gather(ROUNDS, LEAST), $rows);

title('No server');
report($shared, $transports['a Unix socket'][0]['granted']);
foreach ($transports as $name => [$on_redis, $on_memcached]) {
    title("Over $name");
    report($on_redis['ping']);
    report($on_redis['script'], $on_redis['ping']);
    report($on_redis['granted'], $on_redis['script'], 1.05);
    report($on_redis['granted'], $on_redis['ping']);
    report($on_redis['denied'], $on_redis['ping'], 0.02);
    report($on_redis['document'], $on_redis['granted']);
    report($on_memcached['get']);
    report($on_memcached['granted'], $on_memcached['get'], 1.15);
    report($on_memcached['denied'], $on_memcached['get'], 0.02);
    report($on_memcached['document'], $on_memcached['granted']);
}
title('Cluster, TCP, 127.0.0.1');
report($in_cluster['script'], $alone['script']);
report($in_cluster['granted'], $in_cluster['script'], 1.05);
report($in_cluster['granted'], $alone['granted'], 1.08);
report_server_time($redis);

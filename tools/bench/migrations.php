<?php
/**
 * Compares published limiters in plain PHP with our drop-in replacements, on the same server and in
 * the same run.
 *
 * The rows under one title are sampled alternately. Nothing is subtracted from the samples. Ratios
 * are computed round by round. The run starts its own servers, which do not wait for the disk and
 * have no other client.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../testkit/php/servers.php';
require __DIR__ . '/../testkit/php/sql_servers.php';
require __DIR__ . '/../testkit/php/userland_bucket.php';
require __DIR__ . '/../testkit/php/userland_pdo.php';
require __DIR__ . '/../testkit/php/plain_limiters.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateExceededException;
use TokenBucket\Compat\RateLimiter;

const ROUNDS = 10;
/**
 * The samples of a row in a round. Each sample is about 20 calls, which take less time than a
 * scheduler's time slice.
 */
const SAMPLES = 20;
/**
 * The quantile that replaces the samples of a round. It is low because other load only adds time.
 */
const LEAST = 0.1;
/** The turns of the loop for statements that take a fraction of a microsecond. */
const MANY_TURNS = 100;
/** A billion tokens, so that the bucket is never empty here. */
const MUCH = 1_000_000_000;
/**
 * The greatest age of a cached denial in seconds. This age is longer than a run, so that cached
 * denials never expire.
 */
const DENIAL_CACHE_AGE = 600.0;

require __DIR__ . '/upserts.inc.php';

/** Returns the value of an expression that uses these variables. */
function evaluate(string $expression, array $variables): mixed
{
    extract($variables);
    return eval("return $expression;");
}

/**
 * Takes twice. Checks that the first call is granted. Checks that the second call is granted only
 * if $grants.
 */
function begin(callable $take, bool $grants): void
{
    must($take(), 'a full bucket denies');
    must($take() === $grants, $grants ? 'a bucket of many tokens is empty after one' : 'an empty bucket grants');
}

/** The exception that the window in plain PHP throws above the limit. */
final class PlainRateExceededException extends Exception
{
}

/** @return list<Row> the row of the statement in plain PHP, and the row of ours */
function pair(string $plain_name, string $our_name, string $what, string $plain, string $ours, array $variables): array
{
    $row = fn (string $name, string $statement, int $turns) => new Row("$name, $what", $statement, $variables, $turns);
    return [$row($plain_name, $plain, 1), $row($our_name, $ours, 2)];
}

/**
 * Returns the rows of a window of five minutes. Plain PHP reads the counters of the minutes one by
 * one.
 */
function window_rows(Memcache $memcache, TokenBucketStorage $storage): array
{
    $variables = ['plain' => new PlainMinuteWindow($memcache, '192.0.2.1'), 'ours' => new MinuteWindow($storage, '192.0.2.2')];
    for ($i = 0; $i < 3; $i++) {
        must($variables['plain']->limitRequestsInMinutes(MUCH, 5), 'the plain window denies');
        $variables['ours']->limitRequestsInMinutes(MUCH, 5);
    }
    must(!$variables['plain']->limitRequestsInMinutes(1, 5), 'the plain window allows too much');
    try {
        $variables['ours']->limitRequestsInMinutes(1, 5);
        must(false, 'our window allows too much');
    } catch (RateExceededException) {
    }
    // The published class throws if the limit is exceeded.
    $rows = [];
    foreach (['granted' => MUCH, 'denied' => 1] as $what => $limit) {
        $plain = "if (!\$plain->limitRequestsInMinutes($limit, 5)) { throw new PlainRateExceededException; }";
        $ours = "\$ours->limitRequestsInMinutes($limit, 5);";
        [$plain, $ours] = array_map(fn (string $call) => "try { $call } catch (Exception) { }", [$plain, $ours]);
        $rows[] = pair('counters by ext-memcache', 'MinuteWindow', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** Returns the rows of an array of tokens behind a lock. */
function throttle_rows(Memcache $memcache, TokenBucketStorage $storage): array
{
    $variables = ['plain' => new PlainClientThrottle($memcache), 'ours' => new ClientThrottle($storage)];
    $rows = [];
    foreach (['granted' => [MUCH, 60], 'denied' => [1, 1_000_000]] as $what => [$limit, $window]) {
        // Both keys have the same length on the server, including the prefix that our class adds.
        [$plain, $ours] = ["\$plain->check('throttle_plain_$what', $limit, $window)", "\$ours->check('native$what', $limit, $window)"];
        foreach ([$plain, $ours] as $call) {
            begin(fn () => !evaluate($call, $variables), $what === 'granted');
        }
        $rows[] = pair('check() by ext-memcache', 'ClientThrottle', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** Returns the rows of a JSON bucket under WATCH. */
function json_rows(Redis $redis, TokenBucketStorage $storage): array
{
    $rows = [];
    // The limiter in plain PHP grants one token of a bucket of two.
    foreach (['granted' => [MUCH, MUCH, 60], 'denied' => [2, 1, 1_000_000]] as $what => [$plain_limit, $limit, $seconds]) {
        $plain = new WatchingRateLimiter($redis, "plain $what", $plain_limit, $seconds);
        $ours = new RateLimiter("ours. $what", $limit, $seconds);
        $ours->redis = $storage;
        foreach ([$plain, $ours] as $limiter) {
            begin(fn () => $limiter->handler(), $what === 'granted');
        }
        $variables = ['plain' => $plain, 'ours' => $ours];
        $rows[] = pair('JSON under WATCH by phpredis', 'RateLimiter', $what, '$plain->handler()', '$ours->handler()', $variables);
    }
    return array_merge(...$rows);
}

/**
 * Returns the rows of a leaky bucket in sorted sets. In plain PHP the set is chosen before the
 * measurement, so the measured code does less than the published script.
 */
function leaky_rows(Redis $redis, TokenBucketStorage $storage): array
{
    $rows = [];
    foreach (['granted' => [30, 10_000_000], 'denied' => [86_400, 1]] as $what => [$period, $limit]) {
        $member = "192.0.2.1-$what";
        $set = flexihash(sets(), $member);
        $plain = "plain_request(\$redis, '$set', '$member', $limit)";
        $variables = ['redis' => $redis, 'ours' => new LeakyBucket($storage, $period, $limit)];
        $ours = "\$ours->request('192.0.2.2', '$what')";
        foreach ([$plain, $ours] as $call) {
            begin(fn () => evaluate($call, $variables), $what === 'granted');
        }
        $rows[] = pair('sorted sets by phpredis', 'LeakyBucket', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** @param list<Row> $rows in pairs */
function measure_pairs(string $title, array $rows): void
{
    $before = TokenBucket\status()['remote'];
    sample_shuffled($rows, ROUNDS, SAMPLES, LEAST);
    $counted = TokenBucket\status()['remote'];
    must($counted['failed'] === $before['failed'], "a store failed: $title");
    must($counted['cached'] === $before['cached'], "the denial cache replaced a query: $title");
    title($title);
    foreach (array_chunk($rows, 2) as [$plain, $ours]) {
        report($plain);
        report_rival($ours, $plain);
    }
}

function measure_redis(RedisServer $server, bool $tcp): void
{
    $redis = new Redis;
    $tcp ? $redis->connect('127.0.0.1', $server->port) : $redis->connect($server->socket);
    $dsn = $tcp ? "redis://127.0.0.1:$server->port" : "unix://$server->socket";
    $storage = new TokenBucketStorageRedis($dsn, '', PATIENCE, TokenBucket\OnFailure::Throw);
    $over = $tcp ? 'TCP' : 'Unix socket';
    $server->command('FLUSHALL');
    measure_pairs("JSON bucket on Redis, $over", json_rows($redis, $storage));
    measure_pairs("Leaky bucket on Redis, $over", leaky_rows($redis, $storage));
}

function measure_memcached(MemcachedServer $server, bool $tcp): void
{
    $memcache = new Memcache;
    // ext-memcache creates dynamic properties, which PHP 8.2 deprecates.
    @$memcache->connect($tcp ? '127.0.0.1' : "unix://$server->socket", $server->port);
    $address = $tcp ? "127.0.0.1:$server->port" : "unix://$server->socket";
    $storage = new TokenBucketStorageMemcached($address, '', PATIENCE, TokenBucket\OnFailure::Throw);
    $over = $tcp ? 'TCP' : 'Unix socket';
    measure_pairs("Minute window on memcached, $over", window_rows($memcache, $storage));
    measure_pairs("Client throttle on memcached, $over", throttle_rows($memcache, $storage));
}

$versions = array_map(phpversion(...), ['tokenbucket', 'redis', 'memcache']);
printf("PHP %s, tokenbucket %s, phpredis %s, ext-memcache %s\n", PHP_VERSION, ...$versions);
printf("%d rounds; a round's figure is the 10th percentile of %d samples\n", ROUNDS, SAMPLES);
printf("Client and servers on processor %s\n", processors());

$mariadb = MariaDbServer::start();
// The userland class was published with native prepares. PDO's default is emulated prepares.
measure_table('MariaDB table, native prepares', $mariadb, MySqlUpsert::class, false);
measure_table('MariaDB table, emulated prepares', $mariadb, MySqlUpsert::class, true);
$mariadb->kill();
$postgresql = PostgreSqlServer::start();
measure_table('PostgreSQL table', $postgresql, PgSqlUpsert::class);
$postgresql->kill();
measure_table('SQLite file', SqliteFile::start(), SqliteUpsert::class);

$redis = RedisServer::start();
foreach ([false, true] as $tcp) {
    measure_redis($redis, $tcp);
    measure_memcached($tcp ? MemcachedServer::startTcp() : MemcachedServer::startUnix(), $tcp);
}

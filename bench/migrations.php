<?php
/**
 * Limiters that people run, rewritten in plain PHP, next to ours on the same server and in the same run: what
 * each asks of its server for one decision, and how long that takes.
 *
 * The rows under one title take turns, and nothing is subtracted. Ratios are taken round by round. The
 * servers are the run's own, they write no log to disk that is waited for, and there is no other client.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/report.inc.php';
require __DIR__ . '/watch_bucket.inc.php';
require __DIR__ . '/lock_bucket.inc.php';
require __DIR__ . '/../php-tests/servers.inc.php';
require __DIR__ . '/../php-tests/sql_servers.inc.php';
require __DIR__ . '/../php-tests/userland_bucket.inc.php';
require __DIR__ . '/../php-tests/userland_pdo.inc.php';
require __DIR__ . '/../php-tests/06_compat/models.inc.php';
require __DIR__ . '/../php-tests/06_compat/plain.inc.php';
require __DIR__ . '/../php-tests/06_compat/memcached_plain.inc.php';

const ROUNDS = 10;
/** Of a row in a round; each is some 20 calls, which is less than a turn of the scheduler. */
const SAMPLES = 20;
/** Of the samples of a round that much lies below its figure: others only ever make a sample longer. */
const LEAST = 0.1;
/** For what takes a fraction of a microsecond. */
const MANY_TURNS = 100;
/** A thousand million tokens: never empty here. */
const MUCH = 1_000_000_000;
/** A denial is told unasked for longer than this runs. */
const HINT_AGE = 600.0;
/** Seconds: what is measured is no outage. */
const PATIENCE = 5.0;

require __DIR__ . '/upsert_by_hand.inc.php';
require __DIR__ . '/table_rows.inc.php';
require __DIR__ . '/cache_rows.inc.php';

/**
 * In an order that changes each time, for a database goes on cleaning up after who wrote before.
 *
 * @param array<Row> $rows
 */
function sample(array $rows): void
{
    for ($i = 0; $i < ROUNDS * SAMPLES; $i++) {
        shuffle($rows);
        array_map(fn (Row $row) => $row->sample(), $rows);
    }
    array_map(fn (Row $row) => $row->gather(ROUNDS, LEAST), $rows);
}

/** The value of an expression of these variables. */
function evaluate(string $expression, array $variables): mixed
{
    extract($variables);
    return eval("return $expression;");
}

/** Asks twice: a grant, and then one more or a denial. */
function begin(callable $take, bool $grants): void
{
    must($take(), 'a full bucket denies');
    must($take() === $grants, $grants ? 'a bucket of many tokens is empty after one' : 'an empty bucket grants');
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
    // It declares not all of its properties, which PHP 8.2 deprecates.
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
// As the userland class was published, and as PDO does by itself.
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

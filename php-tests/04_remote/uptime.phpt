--TEST--
Buckets of a day, a month and a year are right on a host that has just booted
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/clocks.php';
at_uptime(3) !== '' || print 'skip time namespaces are not permitted';
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/clocks.php';

if (!isset($argv[1])) {
    foreach ([3, 40 * TokenBucket::DAY] as $uptime) {
        echo "-- up for $uptime s --\n";
        $printed = shell_exec(at_uptime($uptime) . ' ' . php_command() . ' -f ' . escapeshellarg(__FILE__) . ' child 2>&1');
        echo $printed;
        // A server is not installed.
        str_starts_with($printed, 'skip: ') && exit;
    }
    exit;
}

/** Checks a storage with buckets of 10 tokens that are full again after $span seconds. */
function check_span(string $name, TokenBucketStorage $storage, int $span): void
{
    $bucket = fn (string $id) => new TokenBucket($storage, "$id $span", 10, 10 / $span);
    $is = fn (bool $holds, string $what) => check($holds, "$name, $span s: $what");
    // The test takes less than a tenth of each of these times.
    $waits = fn (TokenBucket\Decision $denied, float $seconds) => !$denied->allowed && $denied->retryAfter > 0.9 * $seconds && $denied->retryAfter < 1.001 * $seconds;

    $new = $bucket('new');
    $is($new->peek()->remaining === 10.0 && $new->consume(10), 'a new bucket is full');
    $is($waits($new->attempt(), $span / 10), 'an empty bucket denies until it has a token');
    $new->refund(4);
    $is($new->consume(4) && !$new->consume(), 'a refund is what was taken');
    $new->reset();
    $is($new->consume(10) && !$new->consume(), 'after a reset the bucket is full');
    $blocked = $bucket('blocked');
    $blocked->block($span);
    $is($waits($blocked->attempt(), $span * 1.1), 'a block lasts');

    $short = fn (string $id) => new TokenBucket($storage, "$id $span", 60, 3000);
    $full = fn (TokenBucket $bucket) => wait_for('a full bucket', fn () => $bucket->peek()->remaining === 60.0);
    $short('kept')->consume(60);
    $full($short('kept'));
    // Redis forgets a full bucket some milliseconds later.
    wait_for("$name, $span s: a bucket that is full under a short span is full under the long one", fn () => $bucket('kept')->consume(10));
    $short('kept')->consume();
    $full($short('kept'));
    $is(!$bucket('kept')->consume(), 'a call under a short span leaves the tokens of the long one taken');

    $lockout = new TokenBucket\Lockout($storage, "user $span", 1, $span, 2, $span);
    $is($lockout->attempt()->allowed && $waits($lockout->attempt(), $span), 'a lockout lasts');
}

[$redis, $memcached] = [RedisServer::start(), MemcachedServer::startUnix()];
$stores = [
    'memory' => new TokenBucketStorageSharedMemory,
    'redis' => new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
    'memcached' => new TokenBucketStorageMemcached("unix://$memcached->socket", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw),
];
foreach ($servers = sql_servers() as $driver => $server) {
    $stores[$driver] = new TokenBucketStoragePDO($server->connect(), 'limits');
    $stores[$driver]->prepare();
}
foreach ($stores as $name => $storage) {
    foreach ([TokenBucket::DAY, 30 * TokenBucket::DAY, 365 * TokenBucket::DAY] as $span) {
        check_span($name, $storage, $span);
    }
    echo "$name\n";
}
?>
--EXPECT--
-- up for 3 s --
memory
redis
memcached
mysql
pgsql
sqlite
-- up for 3456000 s --
memory
redis
memcached
mysql
pgsql
sqlite

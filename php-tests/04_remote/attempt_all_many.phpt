--TEST--
attemptAll() over many buckets takes and gives back in a few round trips on memcached and clusters
--EXTENSIONS--
pcntl
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';
require __DIR__ . '/../../tools/testkit/php/proxy.php';

const BUCKETS = 1000;

$memcached = MemcachedServer::startTcp();
$proxy = new Proxy("tcp://127.0.0.1:$memcached->port");
$cluster = start_cluster();
$throw = TokenBucket\OnFailure::Throw;
$dsn = "redis+cluster://127.0.0.1:{$cluster[0]->port}";
$storages = [
    'memcached' => new TokenBucketStorageMemcached("127.0.0.1:$proxy->port", 'x:', PATIENCE, $throw, false),
    'cluster' => new TokenBucketStorageRedis($dsn, 'x:', PATIENCE, $throw, false),
    // One script could take from both buckets of a tag.
    'cluster, two buckets for each tag' => new TokenBucketStorageRedis("$dsn?hash_tags=1", 'y:', PATIENCE, $throw, false),
];
$asked = fn (): int => TokenBucket\status()['remote']['asked'];

// This database can be read but not written, so only the take fails, after all checks.
$file = tempnam(sys_get_temp_dir(), 'tokenbucket');
register_shutdown_function(fn () => unlink($file));
$database = new PDO("sqlite:$file");
$limits = new TokenBucketStoragePDO($database, 'limits');
$limits->prepare();
$database->exec('PRAGMA query_only = ON');
$broken = new TokenBucket($limits, 'x', 5, 1e-6);

foreach ($storages as $name => $storage) {
    $buckets = array_map(fn (int $index) => new TokenBucket($storage, sprintf('{user %d} %d', intdiv($index, 2), $index % 2), 3, 1e-6), range(1, BUCKETS));
    check(TokenBucket::attemptAll($buckets)->remaining === 2.0, "$name: granted");
    $before = [$asked(), $proxy->roundTrips()];
    check(TokenBucket::attemptAll($buckets)->remaining === 1.0, "$name: granted");
    $trips = [$asked() - $before[0], $proxy->roundTrips() - $before[1]];
    // A pipeline to memcached contains 500 buckets. A pipeline to a server of the cluster contains
    // a third of all buckets. Each bucket is in two pipelines: one checks it, and one takes from
    // it. The proxy counts another round trip whenever a reply arrives before the end of a
    // pipeline.
    check($trips[0] <= 6 && $trips[1] < BUCKETS / 10, "$name: pipelines and round trips: " . json_encode($trips));

    $buckets['broken'] = $broken;
    $before = [$asked(), $proxy->roundTrips()];
    try {
        TokenBucket::attemptAll($buckets);
        check(false, "$name: the database cannot be written");
    } catch (TokenBucket\StorageException) {
    }
    $trips = [$asked() - $before[0], $proxy->roundTrips() - $before[1]];
    check($trips[0] <= 12 && $trips[1] < BUCKETS / 10, "$name: given back in: " . json_encode($trips));
    unset($buckets['broken']);
    foreach ($buckets as $bucket) {
        check($bucket->peek()->remaining === 1.0, "$name: given back");
    }

    $buckets[700]->consume();
    $denied = TokenBucket::attemptAll($buckets);
    check(!$denied->allowed && $denied->refusedBy === 700, "$name: refused by $denied->refusedBy");
    check($buckets[699]->peek()->remaining === 1.0, "$name: nothing was taken");
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
Each call converts the identifier to a string once, on every storage
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

final class Name
{
    public int $conversions = 0;

    public function __toString(): string
    {
        $this->conversions++;
        return 'name';
    }
}
$redis = RedisServer::start();
$memcached = MemcachedServer::startUnix();
$sqlite = SqliteFile::start();
$pdo = new TokenBucketStoragePDO($sqlite->connect(), 'limits');
$pdo->prepare();
$native = [
    'shared memory' => new TokenBucketStorageSharedMemory,
    'memory' => new TokenBucketStorageMemory,
    'redis' => new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE),
    'memcached' => new TokenBucketStorageMemcached("unix://$memcached->socket", timeout: PATIENCE),
    'sqlite' => $pdo,
];
$calls = [
    'consume' => fn ($bucket) => $bucket->consume(),
    'consume too many' => fn ($bucket) => $bucket->consume(11),
    'attempt' => fn ($bucket) => $bucket->attempt(),
    'wait' => fn ($bucket) => $bucket->wait(0),
];
$only_native = [
    'peek' => fn ($bucket) => $bucket->peek(),
    'refund' => fn ($bucket) => $bucket->refund(),
    'attemptAll' => fn ($bucket) => TokenBucket::attemptAll([$bucket]),
    'reset' => fn ($bucket) => $bucket->reset(),
];
foreach (['userland' => new GrantingStorage, ...$native] as $kind => $storage) {
    $name = new Name;
    $bucket = new TokenBucket($storage, $name, 10, 0.001);
    foreach ($calls + ($kind === 'userland' ? [] : $only_native) as $method => $call) {
        $name->conversions = 0;
        $call($bucket);
        check($name->conversions === 1, "$kind, $method: $name->conversions conversions");
    }
}
echo "done\n";
?>
--EXPECT--
done

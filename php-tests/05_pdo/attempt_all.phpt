--TEST--
attemptAll() on databases gives tokens back if a bucket denies or throws
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$databases = [];
foreach (['first', 'second'] as $name) {
    $file = tempnam(sys_get_temp_dir(), 'tokenbucket');
    register_shutdown_function(fn () => unlink($file));
    $databases[$name] = new PDO("sqlite:$file");
    (new TokenBucketStoragePDO($databases[$name], 'limits'))->prepare();
}
$bucket = fn (string $name) => new TokenBucket(new TokenBucketStoragePDO($databases[$name], 'limits'), 'x', 5, 1e-6);
check(TokenBucket::attemptAll([$bucket('first'), $bucket('second')])->allowed, 'both');

// The second database can be read but not written. So the check of both buckets succeeds, and only
// the take fails.
$databases['second']->exec('PRAGMA query_only = ON');
for ($i = 0; $i < 3; $i++) {
    try {
        TokenBucket::attemptAll([$bucket('first'), $bucket('second')]);
        check(false, 'it cannot be written');
    } catch (TokenBucket\StorageException $e) {
        check($e->getPrevious() instanceof PDOException, 'what the database threw');
    }
    check($bucket('first')->peek()->remaining === 4.0, 'given back');
}

// On Redis, all calls after the loss of a record stay denied until the tokens are refilled.
$server = RedisServer::start();
$storage = new TokenBucketStorageRedis("redis://127.0.0.1:$server->port", timeout: PATIENCE, denialCacheMaxAge: 0.0);
foreach (['attempt' => fn ($bucket) => $bucket->attempt(), 'all' => fn ($bucket) => TokenBucket::attemptAll([$bucket])] as $name => $ask) {
    $bucket = new TokenBucket($storage, $name, 10, 0.001);
    $bucket->consume(10);
    check(!$ask($bucket)->allowed, "$name: empty");
    $server->command('DEL', "tokenbucket:$name");
    for ($i = 0; $i < 100; $i++) {
        check(!$ask($bucket)->allowed, "$name: the record is lost, the tokens are not there: call $i");
    }
}

// On every storage, bootstrap() with a time in the future makes a debt, so the next call is denied.
foreach ([new TokenBucketStorageMemory(), $storage, new TokenBucketStoragePDO($databases['first'], 'limits')] as $home) {
    $starts = fn () => [$home->bootstrap('late', microtime(true) + 50), true][1];
    $said = [$home->consume('late', 1.0, 10.0, $starts), $home->consume('late', 1.0, 10.0, $starts)];
    check($said === [true, false], get_class($home) . json_encode($said));
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
Eight processes on one bucket on memcached are granted exactly its capacity
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/race.inc.php';

$server = MemcachedServer::startUnix();
// Each request ends with one read, so the server's count of reads is the number of requests.
$trips = fn (): int => (int) $server->stats()['cmd_get'];
race(fn (bool $hints) => new TokenBucketStorageMemcached(
    "unix://$server->socket",
    prefix: json_encode($hints),
    timeout: PATIENCE,
    onFailure: TokenBucket\OnFailure::Throw,
    hints: $hints,
    hintMaxAge: LASTING,
), $trips);
?>
--EXPECTF--
hints true: %f round trips a try, %f a grant
hints false: %f round trips a try, %f a grant

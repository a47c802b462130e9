--TEST--
Eight processes on one bucket on Redis are granted exactly its capacity
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/race.inc.php';

$server = RedisServer::start();
$trips = function () use ($server): int {
    preg_match('/cmdstat_evalsha:calls=(\d+)/', $server->command('INFO', 'commandstats'), $match);
    return (int) ($match[1] ?? 0);
};
race(fn (bool $hints) => new TokenBucketStorageRedis(
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

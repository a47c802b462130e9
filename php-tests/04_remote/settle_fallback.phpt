--TEST--
settle() reports a fallback if the store refused the refund or is down
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

$redis = RedisServer::start();
$bucket = fn (OnFailure $policy, int $database) => new TokenBucket(
    new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port/$database", 'p:', PATIENCE, $policy, false), 'x', 5, 0.001
);
$buckets = [$bucket(OnFailure::Local, 0), $bucket(OnFailure::Allow, 1)];
/** Prints `allowed` and `fallback` of the decision of settle() on each bucket. */
$settle = function (string $when) use ($buckets) {
    foreach ($buckets as $bucket) {
        $decision = $bucket->settle(2, 1);
        echo "$when: ", json_encode([$decision->allowed, $decision->fallback]), "\n";
    }
};
foreach ($buckets as $bucket) {
    check($bucket->consume(4), 'taken');
}
$settle('in order');
// A replica refuses to write, but can be read.
$redis->command('REPLICAOF', '127.0.0.1', '1');
$settle('read-only');
$redis->kill();
$settle('stopped');
?>
--EXPECT--
in order: [true,false]
in order: [true,false]
read-only: [true,true]
read-only: [true,true]
stopped: [true,true]
stopped: [true,true]

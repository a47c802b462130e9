--TEST--
LeakyBucket leaks one hit in each period, however often cleanup() runs
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;

const PERIOD = 3600;

$bucket = new LeakyBucket($storage($server), PERIOD, 3);
$set = flexihash(sets(), 'x-y');
// A special member of the set loses one hit with each drain. Raising its score has the same effect
// as periods that pass.
$pass = fn (int $periods) => $redis->zIncrBy($set, $periods, ':drains:' . PERIOD);
$settle(PERIOD, 60);
check($burst($bucket, 'x', 'y') === 3, 'three');
for ($i = 0; $i < 5; $i++) {
    $bucket->cleanup();
    check($redis->zScore($set, 'x-y') === 3.0, 'nothing is due');
}
$pass(1);
$bucket->cleanup();
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0, 'one');
check($burst($bucket, 'x', 'y') === 1, 'one is admitted');
$pass(1);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'one in the next');
$pass(2);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === false && $redis->zScore("$set:control", 'x-y') === false, 'two in the next two: all are gone');
check($burst($bucket, 'x', 'y') === 3, 'three again');
// If the control key is lost, the next clean-up creates a new key. Then hits leak as before.
$redis->del("$set:control");
$pass(1);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'a lost control');

// Lets a period pass on the server's clock.
$bucket = new LeakyBucket($storage($server), 1, 3);
wait_for('three are admitted in one second', fn () => $burst($bucket, 'z', 'y') >= 3);
usleep(1_000_000);
check($burst($bucket, 'z', 'y') >= 1, 'one leaks in a second');
echo "done\n";
?>
--EXPECT--
done

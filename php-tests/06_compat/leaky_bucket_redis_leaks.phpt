--TEST--
LeakyBucket leaks one hit in each period, however often cleanup() runs
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;

$bucket = new LeakyBucket($storage($server), 2, 3);
$set = flexihash(sets(), 'x-y');
$settle(2);
check($burst($bucket, 'x', 'y') === 3, 'three');
for ($i = 0; $i < 5; $i++) {
    $bucket->cleanup();
    check($redis->zScore($set, 'x-y') === 3.0, 'nothing is due');
}
$settle(2, 2);
$bucket->cleanup();
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0, 'one');
check($burst($bucket, 'x', 'y') === 1, 'one is admitted');
$settle(2, 2);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'one in the next');
usleep(4_100_000);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === false && $redis->zScore("$set:control", 'x-y') === false, 'two in the next two: all are gone');
check($burst($bucket, 'x', 'y') === 3, 'three again');
// If the control key is lost, the next clean-up creates a new key. Then hits leak as before.
$redis->del("$set:control");
$settle(2, 2);
$bucket->cleanup();
check($redis->zScore($set, 'x-y') === 2.0 && $redis->zScore("$set:control", 'x-y') === -1.0, 'a lost control');
echo "done\n";
?>
--EXPECT--
done

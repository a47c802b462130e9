--TEST--
LeakyBucket leaves keys with foreign data unchanged
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;
use TokenBucket\OnFailure;

$set = flexihash(sets(), 'x-y');
foreach ([$set, "$set:control"] as $key) {
    $redis->flushAll();
    $bucket = new LeakyBucket($storage($server), 86400, 2);
    check($bucket->request('x', 'y'), 'a first');
    $redis->del($key);
    $redis->set($key, 'foreign');
    $hits = $key === $set ? false : $redis->zScore($set, 'x-y');
    $said = thrown(fn () => $bucket->request('x', 'y'));
    check(str_ends_with($said, 'the key does not hold a record of this limiter'), "$key: $said");
    foreach ([[OnFailure::Deny, 0], [OnFailure::Allow, 5]] as [$policy, $expected]) {
        $admitted = @$burst(new LeakyBucket($storage($server, $policy), 86400, 2), 'x', 'y', 5);
        check($admitted === $expected, "$key, $policy->name: $admitted");
    }
    check($redis->get($key) === 'foreign', "left alone: $key");
    check($key === $set || $redis->zScore($set, 'x-y') === $hits, "no hit is counted: $key");
}
$redis->flushAll();
$redis->set('locked', 'foreign');
$bucket = new LeakyBucket($storage($server), 86400, 2);
check($burst($bucket, 'x', 'y') === 2 && !$bucket->request('x', 'y'), 'what cannot be counted is denied');
check(str_ends_with(thrown(fn () => $bucket->locked()), 'record of this limiter') && $redis->get('locked') === 'foreign', 'and it is said where it matters');
$redis->flushAll();
$redis->zAdd('set03', INF, '1.2.3.4-search');
check(!(new LeakyBucket($storage($server)))->request('1.2.3.4', 'search') && $redis->zScore('set03', '1.2.3.4-search') === INF, 'no end');
echo "done\n";
?>
--EXPECT--
done

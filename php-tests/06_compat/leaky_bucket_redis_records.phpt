--TEST--
LeakyBucket on Redis keeps hits and denials in sorted sets
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;

echo "-- LeakyBucket on Redis keeps hits and denials in sorted sets --\n";
$settle(86400);
$bucket = new LeakyBucket($storage($server), 86400);
check($burst($bucket, '1.2.3.4', 'search') === 6, 'six');
check($redis->zScore('set03', '1.2.3.4-search') === 6.0 && $redis->zScore('set03:control', '1.2.3.4-search') === -1.0, 'the records');
check($redis->zScore('locked', '1.2.3.4-search') === 1.0, 'a denial is counted');
$before = $redis->dump('set03') . $redis->dump('set03:control');
check(!$bucket->request('1.2.3.4', 'search') && $redis->zScore('locked', '1.2.3.4-search') === 2.0, 'another');
check($redis->dump('set03') . $redis->dump('set03:control') === $before, 'and nothing else is written');
$bucket->bucket('login', 86400, 2);
check($burst($bucket, '127.0.0.1', 'login') === 2 && $redis->zScore('login:set06', '127.0.0.1-login') === 2.0, 'sets of its own');
$keys = $redis->keys('*');
sort($keys);
check($keys === ['locked', 'login:set06', 'login:set06:control', 'set03', 'set03:control'], implode(' ', $keys));
check($bucket->locked() === ['1.2.3.4-search' => 2, '127.0.0.1-login' => 1], 'who was denied');
check($bucket->locked(1) === ['1.2.3.4-search' => 2], 'who was denied most');
$bucket->request('a-b', 'c-d');
check(in_array('a-b-c%2Dd', $redis->zRange(flexihash(sets(), 'a-b-c%2Dd'), 0, -1), true), 'an action with a dash');

echo "-- A dry run of LeakyBucket counts denials and denies nothing --\n";
$redis->flushAll();
$dry = new LeakyBucket($storage($server), 86400, 6, dryRun: true);
check($burst($dry, 'x', 'y', 50) === 50, 'a dry run');
check($dry->locked() === ['x-y' => 44], 'it counts');
$set = flexihash(sets(), 'x-y');
check($redis->zScore($set, 'x-y') === 6.0, 'as many hits as would have been admitted');
check(!(new LeakyBucket($storage($server), 86400))->request('x', 'y'), 'in earnest');

echo "-- LeakyBucket keeps the ten thousand clients with the most denials --\n";
$dry = new LeakyBucket($storage($server), 86400, 6, dryRun: true);
$burst($dry, 'x', 'y', 50);
$redis->del('locked');
$pipe = $redis->pipeline();
for ($i = 0; $i < 11_000; $i++) {
    $pipe->zAdd('locked', 2 + $i, "client $i-x");
}
$pipe->exec();
$dry->request('x', 'y');
check($redis->zCard('locked') === 10_000, 'cut: ' . $redis->zCard('locked'));
check($dry->locked(2) === ['client 10999-x' => 11_001, 'client 10998-x' => 11_000], 'the worst are kept');
check($redis->zScore('locked', 'client 999-x') === false && $redis->zScore('locked', 'client 1000-x') === 1002.0, 'the least go');
check(count($dry->locked(PHP_INT_MAX)) === 10_000, 'all');

echo "-- a foreign key \"locked\", and a score without an end --\n";
$redis->flushAll();
$redis->set('locked', 'foreign');
$bucket = new LeakyBucket($storage($server), 86400, 2);
check($burst($bucket, 'x', 'y') === 2 && !$bucket->request('x', 'y'), 'a denial that cannot be counted');
check(str_ends_with(thrown(fn () => $bucket->locked()), 'record of this limiter') && $redis->get('locked') === 'foreign', 'locked()');
$redis->flushAll();
$redis->zAdd('set03', INF, '1.2.3.4-search');
check(!(new LeakyBucket($storage($server)))->request('1.2.3.4', 'search') && $redis->zScore('set03', '1.2.3.4-search') === INF, 'no end');
echo "done\n";
?>
--EXPECT--
-- LeakyBucket on Redis keeps hits and denials in sorted sets --
-- A dry run of LeakyBucket counts denials and denies nothing --
-- LeakyBucket keeps the ten thousand clients with the most denials --
-- a foreign key "locked", and a score without an end --
done

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
echo "done\n";
?>
--EXPECT--
done

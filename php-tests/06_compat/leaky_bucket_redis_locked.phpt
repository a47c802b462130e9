--TEST--
LeakyBucket keeps the ten thousand clients with the most denials
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/leaky_bucket_redis.inc.php';

use TokenBucket\Compat\LeakyBucket;

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
echo "done\n";
?>
--EXPECT--
done

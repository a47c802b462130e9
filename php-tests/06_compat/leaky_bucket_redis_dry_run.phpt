--TEST--
A dry run of LeakyBucket counts denials and denies nothing
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
check($burst($dry, 'x', 'y', 50) === 50, 'a dry run');
check($dry->locked() === ['x-y' => 44], 'it counts');
$set = flexihash(sets(), 'x-y');
check($redis->zScore($set, 'x-y') === 6.0, 'as many hits as would have been admitted');
check(!(new LeakyBucket($storage($server), 86400))->request('x', 'y'), 'in earnest');
echo "done\n";
?>
--EXPECT--
done

--TEST--
LeakyBucket follows onFailure when its server is down
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

$server->kill();
foreach ([[OnFailure::Deny, 0], [OnFailure::Allow, 20], [OnFailure::Local, 4]] as [$policy, $expected]) {
    $bucket = new LeakyBucket($storage($server, $policy), 86400, 4);
    check(@$burst($bucket, 'down', 'x', 20) === $expected, "$policy->name");
    check(@$bucket->locked() === [] && @$bucket->cleanup() === null, "$policy->name: nothing is known");
}
check(str_contains(thrown(fn () => (new LeakyBucket($storage($server)))->request('x', 'y')), 'StorageException'), 'thrown');
echo "done\n";
?>
--EXPECT--
done

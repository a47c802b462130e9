--TEST--
A server whose clock is before 2002 grants nothing
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/clocks.php';
can_set_clocks() || print 'skip libfaketime is missing';
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/clocks.php';

$folder = temporary_folder();
create_with_clock("$folder/redis", getenv('REDIS_SERVER') ?: 'redis-server', '1970-01-02 00:00:00');
putenv("REDIS_SERVER=$folder/redis");
$redis = RedisServer::start();
check($redis->command('TIME')[0] < 1e6, 'the clock of the server');
$prelude = '$storage = new TokenBucketStorageRedis("unix://' . $redis->socket . '", "t:", ' . PATIENCE . ', TokenBucket\OnFailure::Throw, false);
    $bucket = new TokenBucket($storage, "a", 5, 0.001);
    $other = new TokenBucket($storage, "b", 5, 0.001);';
foreach ([
    '$bucket->consume()', '$bucket->attempt(1, 1)', '$bucket->reserve(1.0)', '$bucket->peek()', '$bucket->charge(1)',
    'TokenBucket::attemptAll([$bucket, $other])', 'TokenBucket::attemptEach([$bucket, $other])',
    '(new TokenBucket\Quota($storage, "c", 5, TokenBucket\Period::Year))->consume()',
    '(new TokenBucket\Lockout($storage, "d"))->attempt()',
    '(new TokenBucket\ConcurrencyLimit($storage, "e", 2))->acquire()',
    '(new TokenBucket\Compat\LeakyBucket($storage))->request("f", "g")',
] as $call) {
    // Each call runs in a process of its own, because three failures open the breaker.
    $code = "$prelude try { $call; echo 'granted'; } catch (TokenBucket\StorageException \$e) { echo \$e->getMessage(); }";
    $said = (string) shell_exec(php_command() . ' -r ' . escapeshellarg($code));
    str_contains($said, 'the time of the server is before the year 2002') || print "$call: $said\n";
}
check($redis->command('DBSIZE') === 0, 'no record');
echo "done\n";
?>
--EXPECT--
done

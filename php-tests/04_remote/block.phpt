--TEST--
A block is in the denial cache at once, outlives the server's data, and holds during an outage
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    $bucket('another')->block(1);
    $x = $bucket('x');
    $is([true, 2], $asked(fn () => $x->block(5000)->allowed), 'a block asks twice');
    $is([false, 0], $asked(fn () => $x->consume()), 'a blocked call does not ask');
    $is([[false, false], 0], $asked(fn () => in_processes(2, fn () => $x->consume())), 'in no process of this host');
    $y = $bucket('y');
    $y->drain();
    $is([false, 0], $asked(fn () => $y->consume()), 'a call on a drained bucket does not ask');
});

$redis = RedisServer::start();
$storage = new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port", 'p:', PATIENCE, TokenBucket\OnFailure::Local, true, 0.0);
$bucket = new TokenBucket($storage, 'x', 5, 0.001);
$bucket->block(5000);
$redis->command('FLUSHALL');
check(!$bucket->consume(), 'the block is restored');
check($bucket->peek()->retryAfter > 4900, 'with its end');
$redis->command('FLUSHALL');
$bucket->drain(4);
check($bucket->peek()->retryAfter > 4900, 'a drain restores it, too');
$redis->command('FLUSHALL');
$fresh = new TokenBucket($storage, 'fresh', 5, 0.001);
check(!TokenBucket::attemptAll([$fresh, $bucket])->allowed && $fresh->peek()->remaining === 5.0, 'so does attemptAll()');
$redis->kill();
$denied = $bucket->attempt();
check(!$denied->allowed && $denied->fallback && $denied->retryAfter > 4900, json_encode($denied));
?>
--EXPECT--
done

--TEST--
ConcurrencyLimit on Redis: the server keeps the permits, and each has a lease
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/acquire.inc.php';

use TokenBucket\ConcurrencyLimit;
use TokenBucket\OnFailure;

$redis = RedisServer::start();
$storage = fn (string $prefix = 'a:') => new TokenBucketStorageRedis("unix://$redis->socket", $prefix, PATIENCE, OnFailure::Throw);
$printed = function (TokenBucketStorage $storage): string {
    ob_start();
    take_permits($storage);
    return ob_get_clean();
};
check($printed($storage()) === $printed(new TokenBucketStorageMemory), 'the decisions of acquire.phpt');
print_values($redis->command('KEYS', '*~permits'));

echo "-- the record: one sorted set for each identifier --\n";
$limit = new ConcurrencyLimit($storage(), 'exports', 3, 3600);
$permit = $limit->acquire();
[$member, $end] = $redis->command('ZRANGE', 'a:exports~permits', '0', '-1', 'WITHSCORES');
print_values(preg_match('/^[0-9a-f]{32}:3600000000$/', $member));
$left = $end / 1e6 - $redis->command('TIME')[0];
check($left > 0 && $left < 3601, "an hour is left: $left");
$same = new ConcurrencyLimit($storage(), 'exports', 3);
print_values($same->held(), (new ConcurrencyLimit($storage('b:'), 'exports', 3))->held());

echo "-- renew() makes the lease begin again --\n";
$redis->command('ZADD', 'a:exports~permits', 'XX', (string) ($redis->command('TIME')[0] + 60) . '000000', $member);
print_values($permit->renew());
check($redis->command('ZSCORE', 'a:exports~permits', $member) >= $end, 'it ends later than before');
$redis->command('ZADD', 'a:exports~permits', 'XX', '1', $member);
print_values($permit->renew(), $limit->held());
$permit->release();
$permits = TokenBucket\status()['permits'];
// taken_back counts the lease that has ended, and foreign counts its late release.
print_values($permits['held'], $permits['denied'], $permits['taken_back'], $permits['foreign'], $permits['unavailable']);

echo "-- a permit outlives its storage and its limit --\n";
$permit = (new ConcurrencyLimit($storage(), 'exports', 3))->acquire();
print_values($limit->held(), $permit->renew());
unset($permit);
print_values($limit->held());

echo "-- a forked child holds no permit of its parent, and ends none --\n";
$permit = $limit->acquire();
[$result] = in_processes(1, function () use (&$permit, $limit) {
    $renewed = $permit->renew();
    $permit->release();
    unset($permit);
    $own = $limit->acquire();
    return [$renewed, $own->decision->remaining, $own->renew(), $limit->held()];
});
print_values($result, $limit->held(), $permit->renew());

echo "-- a wait ends when another process releases its permit --\n";
$one = new ConcurrencyLimit($storage(), 'one', 1);
[$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
$pid = pcntl_fork();
if ($pid === 0) {
    $held = $one->acquire();
    fwrite($its, $held->decision->reason);
    usleep(300_000);
    exit(0);
}
print_values(fread($mine, 7));
$permit = $one->acquire(INF);
print_values($permit->decision->reason, $permit->renew());
pcntl_waitpid($pid, $status);

echo "-- a wait in vain asks at most 14 times in the first second, and 10 times in each later one --\n";
$asked = fn () => TokenBucket\status()['remote']['asked'];
$before = $asked();
$start = hrtime(true);
show($one->acquire(1.5)->decision);
$took = (hrtime(true) - $start) / 1e9;
check($took >= 1.5, "it took $took s");
// The first and the last try are made without a pause.
$tries = $asked() - $before;
check($tries >= 2 && $tries <= 2 + 14 + 10 * ($took - 1), "$tries tries in $took s");
// Releases the permit while the server runs, because the server ends before this process.
unset($permit);
?>
--EXPECT--
[]
-- the record: one sorted set for each identifier --
1
1 0
-- renew() makes the lease begin again --
true
false 0
0 4 1 1 null
-- a permit outlives its storage and its limit --
1 true
0
-- a forked child holds no permit of its parent, and ends none --
[false, 1, true, 2] 1 true
-- a wait ends when another process releases its permit --
'granted'
'granted' true
-- a wait in vain asks at most 14 times in the first second, and 10 times in each later one --
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0

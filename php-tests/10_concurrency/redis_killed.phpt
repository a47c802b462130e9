--TEST--
ConcurrencyLimit on Redis: the permit of a killed process is free when its lease ends, and not before
--EXTENSIONS--
pcntl
--INI--
opcache.jit=disable
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;
use TokenBucket\OnFailure;

const LEASE = 0.5;
const SET = 'tokenbucket:x~permits';

$redis = RedisServer::start();
$limit = fn (float $lease) => new ConcurrencyLimit(
    new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE, onFailure: OnFailure::Throw), 'x', 2, $lease,
);
/** Returns the microseconds since the epoch on the server's clock. */
$now = function () use ($redis): int {
    [$seconds, $micros] = $redis->command('TIME');
    return 1_000_000 * $seconds + $micros;
};
$living = $limit(3600)->acquire();
for ($kill = 1; $kill <= 5; $kill++) {
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $before = $now();
    $pid = pcntl_fork();
    if ($pid === 0) {
        $permit = $limit(LEASE)->acquire(INF);
        fwrite($its, $permit->decision->reason);
        send_signal('KILL', getmypid());
        sleep(600);
    }
    check(fread($mine, 7) === 'granted', "permit $kill is granted");
    $ends = array_map(intval(...), array_filter($redis->command('ZRANGE', SET, '0', '-1', 'WITHSCORES'), is_numeric(...)));
    // On a slow machine the lease may have ended already, and then its end is estimated.
    $end = count($ends) === 2 ? min($ends) : $before + (int) (LEASE * 1e6);
    check($end >= $before + LEASE * 1e6, 'the lease begins during the call');
    pcntl_waitpid($pid, $status);
    do {
        $asked_at = $now();
        $permit = $limit(3600)->acquire();
        $answered_at = $now();
        $is_granted = $permit->decision->allowed;
        check($is_granted ? $answered_at >= $end : $asked_at < $end, "{$permit->decision->reason} after kill $kill");
    } while (!$is_granted);
    $permit->release();
}
$counts = TokenBucket\status()['permits'];
print_values($counts['taken_back'], $counts['foreign'], $limit(1)->held(), $living->renew());
unset($living);
?>
--EXPECT--
5 0 1 true

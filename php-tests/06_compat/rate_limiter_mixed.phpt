--TEST--
RateLimiter and plain PHP share one record and keep the limit together
--EXTENSIONS--
igbinary
redis
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

$server = RedisServer::start();
$connect = function () use ($server): Redis {
    $redis = new Redis;
    $redis->connect($server->socket);
    return $redis;
};
$ours = function (string $key, int $num, int $expire) use ($server): TokenBucket\Compat\RateLimiter {
    $limiter = new TokenBucket\Compat\RateLimiter($key, $num, $expire);
    $limiter->redis = new TokenBucketStorageRedis("unix://$server->socket", 'unused:', 5.0, TokenBucket\OnFailure::Throw);
    return $limiter;
};

// Native and plain code call in random order. No token is lost or added. The plain clock has whole
// seconds, so up to one second of refill may come early. This refill is less than a token.
$redis = $connect();
mt_srand(7);
foreach ([[30, 3600], [100, 86400], [7, 3600]] as $round => [$num, $expire]) {
    $limiter = $ours("turns $round", $num, $expire);
    $allowed = ['ours' => 0, 'plain' => 0];
    for ($i = 0; $i < 4 * $num; $i++) {
        if (mt_rand(0, 1) === 0) {
            $allowed['ours'] += $limiter->handler() ? 1 : 0;
        } else {
            $allowed['plain'] += plain_rate_limiter($redis, "turns $round", $num, $expire) ? 1 : 0;
        }
        $data = json_decode($redis->get("turns $round"), true);
        check(array_keys($data) === ['num', 'time'] && $data['num'] > -1e-9 && $data['num'] <= $num, 'readable by both');
    }
    check(array_sum($allowed) === $num && min($allowed) > 0, json_encode($allowed));
}

// All processes call at once. If another process writes between the read and the write of a plain
// process, the EXEC of the plain process fails. Then the plain process tries again.
foreach (range(1, 3) as $round) {
    $granted = in_processes(8, function (int $index, callable $barrier) use ($connect, $ours, $round): int {
        $redis = $connect();
        $limiter = $ours("race $round", 300, 86400);
        $barrier();
        for ($granted = $i = 0; $i < 100; $i++) {
            $is_allowed = $index % 2 ? $limiter->handler() : plain_rate_limiter($redis, "race $round", 300, 86400);
            $granted += $is_allowed ? 1 : 0;
        }
        return $granted;
    });
    // Plain code counts whole seconds, so it may refill one second too early. One second refills
    // 300/86400 of a token, so the sum is still exact.
    check(array_sum($granted) === 300, 'a race: ' . json_encode($granted));
}
echo "done\n";
?>
--EXPECT--
done

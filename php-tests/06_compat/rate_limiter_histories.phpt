--TEST--
RateLimiter matches its model on random histories with a given clock
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/models.inc.php';

mt_srand(20260101);
$quotas = [[30, 60], [1, 1], [7, 60], [1000, 3600], [3, 86400], [13, 7], [999, 1]];

// In memory, the clock counts nanoseconds.
$differ = 0;
foreach ($quotas as [$num, $expire]) {
    $limiter = new TokenBucket\Compat\RateLimiter('key', $num, $expire);
    $limiter->redis = $memory = new TokenBucketStorageMemory;
    $now = 0;
    $model = new TokenModel($num, $expire * 1_000_000_000, $now, true);
    for ($i = 0; $i < 3000; $i++) {
        if (mt_rand(0, 2) === 0) {
            // Some calls are at the exact nanosecond at which a token is refilled, or one
            // nanosecond before.
            $span = [mt_rand(0, 2 * $model->cost), $model->cost, $model->cost - 1, mt_rand(0, 40) * $model->cost][mt_rand(0, 3)];
            $memory->advance($span / 1e9);
            $now += $span;
        }
        $differ += $limiter->handler() !== $model->take($now) ? 1 : 0;
    }
}
var_dump($differ);

// On Redis, the record is JSON and the clock counts microseconds.
$server = RedisServer::start();
$redis = new Redis;
$redis->connect($server->socket);
$text = script(4, 'stores/src/remote/redis/record', 'stores/src/remote/redis/clock', 'compat/src/json_bucket');
$differ = $records = 0;
foreach ($quotas as [$num, $expire]) {
    $now = 1_800_000_000_000_000 + mt_rand(0, 1_000_000);
    $model = new TokenModel($num, $expire * 1_000_000, $now);
    $redis->del('key');
    for ($i = 0; $i < 2000; $i++) {
        if (mt_rand(0, 2) === 0) {
            $now += [mt_rand(0, 2 * $model->cost), $model->cost, $model->cost - 1, mt_rand(0, 40) * $model->cost][mt_rand(0, 3)];
        }
        $arguments = ['key', $model->cost, $model->cost * $num, $num, intdiv($now, 1_000_000), $now % 1_000_000];
        $before = $redis->get('key');
        $wait = $redis->eval($text, $arguments, 1);
        $allowed = (int) ($wait === 0);
        check(is_int($wait) && $wait >= 0, 'an answer: ' . $redis->getLastError());
        $differ += ($allowed === 1) !== $model->take($now) ? 1 : 0;
        $after = $redis->get('key');
        check($allowed === 1 || $before === $after, 'a denial writes nothing');
        if ($allowed === 1) {
            // PHP must read the numbers that the script wrote, and encode them without a change.
            $data = json_decode($after, true);
            $same = array_keys($data) === ['num', 'time'] && json_decode(json_encode($data), true) === $data
                && (int) round($data['time'] * 1e6) === $now && (int) round($data['num'] * $model->cost) === $model->held;
            check($same, "a record: $after");
            $records++;
        }
    }
}
var_dump($differ, $records > 1000);
?>
--EXPECT--
int(0)
int(0)
bool(true)

--TEST--
LeakyBucket matches its model on random histories, and places members in the same sets as Flexihash
--EXTENSIONS--
igbinary
redis
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/models.inc.php';

mt_srand(20260102);

// In memory, the clock starts in 2024. Periods start at multiples of their length.
$differ = 0;
foreach ([[30, 6], [1, 1], [7, 100], [86400, 3]] as [$period, $limit]) {
    $bucket = new TokenBucket\Compat\LeakyBucket($memory = new TokenBucketStorageMemory, $period, $limit);
    $ticks = $period * 1_000_000_000;
    $now = gmmktime(0, 0, 0, 1, 1, 2024) * 1_000_000_000;
    $model = new LeakyModel($ticks, $limit, $now);
    for ($i = 0; $i < 3000; $i++) {
        if (mt_rand(0, 3) === 0) {
            $span = [mt_rand(0, $ticks), mt_rand(0, 3) * $ticks, -$now % $ticks + $ticks, -$now % $ticks + $ticks - 1][mt_rand(0, 3)];
            $memory->advance($span / 1e9);
            $now += $span;
        }
        $client = ['a', 'b', 'c-d'][mt_rand(0, 2)];
        $differ += $bucket->request($client, 'x') !== $model->request("$client-x", $now) ? 1 : 0;
    }
}
var_dump($differ);

// On Redis, the hits are in sorted sets. Clean-ups run between requests. A set without requests
// leaks later, but by the same number of hits.
$server = RedisServer::start();
$redis = new Redis;
$redis->connect($server->socket);
$request = script(5, 'compat/src/leaky_bucket/drain', 'compat/src/leaky_bucket/request');
$cleanup = script(2, 'compat/src/leaky_bucket/drain', 'compat/src/leaky_bucket/cleanup');
$differ = $denied = 0;
foreach ([[30, 6], [1, 1], [7, 100], [86400, 3]] as [$period, $limit]) {
    $redis->flushAll();
    $now = 1_800_000_000 + mt_rand(0, 100_000);
    $model = new LeakyModel($period, $limit, $now);
    for ($i = 0; $i < 2000; $i++) {
        if (mt_rand(0, 3) === 0) {
            $now += [mt_rand(0, $period), mt_rand(0, 3) * $period, $period - $now % $period, 0][mt_rand(0, 3)];
        }
        if (mt_rand(0, 5) === 0) {
            // The next leak makes a lost control again.
            if (mt_rand(0, 3) === 0) {
                $now += $period;
                $redis->del('set01:control');
            }
            $redis->eval($cleanup, ['set01', 'set01:control', $period, $now, 0], 2);
            $model->drain($now);
        }
        $member = ['a-x', 'b-x', 'c-x', 'd-y'][mt_rand(0, 3)];
        $keys = ['set01', 'set01:control', 'locked'];
        [$count, $wait] = $redis->eval($request, [...$keys, $member, $period, $limit, 10000, $now, 0], 3);
        check($wait >= 0, 'an answer: ' . $redis->getLastError());
        $differ += ($wait === 0) !== $model->request($member, $now) ? 1 : 0;
        $denied += (int) ($wait > 0);
        $hits = array_filter($redis->zRange('set01', 0, -1, true), fn ($member) => $member[0] !== ':', ARRAY_FILTER_USE_KEY);
        check($count == ($hits[$member] ?? 0), "$count hits");
        // At the end of the wait, the bucket holds one hit less than the limit.
        check($wait === 0 || $model->hits[$member] - intdiv($now + $wait, $period) + intdiv($now, $period) === $limit - 1.0
            || $model->hits[$member] - intdiv($now + $wait, $period) + intdiv($now, $period) === $limit - 1, "$wait s to wait");
        $expected = $model->hits;
        ksort($hits);
        ksort($expected);
        check($hits == $expected, 'the hits: ' . json_encode([$hits, $expected]));
        $members = $redis->zRange('set01', 0, -1);
        $controls = $redis->zRange('set01:control', 0, -1, true);
        check(array_diff($members, array_keys($controls)) === [] && array_unique($controls) == [array_key_first($controls) => -1], 'the control');
    }
    $locked = $redis->zRange('locked', 0, -1, true);
    ksort($locked);
    ksort($model->locked);
    check($locked == $model->locked, 'the denials');
}
var_dump($differ, $denied > 100);

// Checks in which set each member is placed.
foreach (['A-search' => 'set05', '1.2.3.4-search' => 'set03', '127.0.0.1-login' => 'set06'] as $member => $set) {
    check(flexihash(sets(), $member) === $set, "the model: $member");
}
$redis->flushAll();
// A hit leaks once in a year, so that none leaks during the test.
$bucket = new TokenBucket\Compat\LeakyBucket(TokenBucketStorageRedis::fromClient($redis, timeout: PATIENCE), 365 * 86400);
$all = [];
for ($i = 0; $i < 2000; $i++) {
    $client = mt_rand(0, 1) ? long2ip(mt_rand(0, 0xffffffff)) : substr(md5((string) $i), mt_rand(0, 32));
    $action = ['search', 'login', 'a', ''][mt_rand(0, 3)];
    $bucket->request($client, $action);
    $all[flexihash(sets(), "$client-$action")]["$client-$action"] = true;
}
foreach (sets() as $set) {
    $members = array_filter($redis->zRange($set, 0, -1), fn ($member) => $member[0] !== ':');
    check(count($members) > 50 && array_diff_key(array_flip($members), $all[$set]) === [] && count($members) === count($all[$set]), "placement on $set");
}
echo "done\n";
?>
--EXPECT--
int(0)
int(0)
bool(true)
done

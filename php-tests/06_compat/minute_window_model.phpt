--TEST--
MinuteWindow matches its model on random histories, in memory and on servers, and so does ClientThrottle in memory
--EXTENSIONS--
memcache
--FILE--
<?php
require __DIR__ . '/limiters.inc.php';

use TokenBucket\Compat\MinuteWindow;

$seed = random_int(0, PHP_INT_MAX);
mt_srand($seed);
$history = is_slow() ? 200 : 20_000;

// Both limiters charge denied calls, too.
$quotas = [[1, 1], [3, 5], [1000, 5], [7, 60]];
foreach (['MinuteWindow', 'ClientThrottle'] as $kind) {
    $model = new ChargedModel;
    $storage = new TokenBucketStorageMemory;
    $decisions = [0, 0];
    for ($i = 0; $i < $history; $i++) {
        [$requests, $minutes] = $quotas[mt_rand(0, 3)];
        $seconds = mt_rand(0, 1) === 0 ? 0 : mt_rand(0, 120 * $minutes) / mt_rand(1, 2 * min($requests, 50));
        $microseconds = (int) ($seconds * 1e6);
        $storage->advance($microseconds / 1e6);
        $model->now += $microseconds * 1000;
        $ip = (string) mt_rand(0, 2);
        $allowed = $model->allows("$ip $minutes", $requests, 60 * $minutes);
        $decisions[(int) $allowed]++;
        // Each number of minutes has buckets of its own.
        $id = $kind === 'MinuteWindow' ? $ip : "$ip $minutes";
        check(limiter($kind, $storage, 60 * $minutes, $requests, $id)[1]() === $allowed, "$kind: step $i, seed $seed");
    }
    check(min($decisions) > $history / 20, 'both decisions happen: ' . json_encode($decisions));
}

// Writes the counters of the last minutes to the server. Each call adds up the counters in its
// window.
$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
$memcache = memcache($server->port);
$keepers = [
    [
        new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE),
        fn (string $name, int $count) => $memcache->set($name, $count, 0, 1000),
    ],
    [
        new TokenBucketStorageRedis("unix://$redis->socket", 'p:', 5.0),
        fn (string $name, int $count) => $redis->command('SET', "p:$name", (string) $count, 'EX', '1000'),
    ],
];
foreach ($keepers as [$storage, $put]) {
    $decisions = [];
    for ($i = 0; $i < $history / 400; $i++) {
        in_one_minute(function () use ($storage, $put, $seed, $i, &$decisions) {
            $ip = uniqid();
            $counts = [];
            for ($ago = 0; $ago < 8; $ago++) {
                if (mt_rand(0, 2) > 0) {
                    $put("rate$ip" . date('dHi', time() - 60 * $ago), $counts[$ago] = mt_rand(0, 20));
                }
            }
            $window = new MinuteWindow($storage, $ip);
            $passed = 0;
            for ($call = 0; $call < 10; $call++) {
                [$requests, $minutes] = [mt_rand(1, 120), mt_rand(1, 8)];
                $counts[0] = ($counts[0] ?? 0) + 1;
                $sum = 0;
                foreach ($counts as $ago => $count) {
                    $sum += $ago < $minutes ? $count : 0;
                }
                $allowed = $sum <= $requests;
                $passed += (int) $allowed;
                check(allows($window, $requests, $minutes) === $allowed, get_class($storage) . " $i, seed $seed");
            }
            $decisions[] = $passed;
        });
    }
    check(array_sum($decisions) > 0 && array_sum($decisions) < 10 * count($decisions), 'both decisions happen');
}
echo "done\n";
?>
--EXPECT--
done

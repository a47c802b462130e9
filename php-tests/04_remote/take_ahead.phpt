--TEST--
takeAhead: hosts share a used-up bucket by few round trips, and grant no more than its rate
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const RATE = 50;
const GRANTS = 20;

$redis = RedisServer::start();
$dsn = "redis://127.0.0.1:$redis->port";
$scripts = fn () => preg_match('/cmdstat_evalsha:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $found) ? (int) $found[1] : 0;

/** Two workers of a host call until each has 20 grants. Prints the instants of the grants. */
$host = 'require ' . var_export(__DIR__ . '/../../tools/testkit/php/testkit.php', true) . ';
    $storage = new TokenBucketStorageRedis($argv[1], ...["timeout" => PATIENCE, "onFailure" => TokenBucket\OnFailure::Throw] + ($argv[2] === "none" ? [] : ["takeAhead" => (float) $argv[2]]));
    $bucket = new TokenBucket($storage, "hot", 100, ' . RATE . ');
    $grants = in_processes(2, function () use ($bucket) {
        $grants = [];
        while (count($grants) < ' . GRANTS . ') {
            $bucket->consume() && $grants[] = hrtime(true);
            usleep(500);
        }
        return $grants;
    });
    echo json_encode([array_merge(...$grants), TokenBucket\status()["remote"], TokenBucket\metrics()]);';
// A host asks for no place if the last reply was slow.
$has_slow_replies = fn (string $metrics) => !preg_match('/store_duration_seconds_bucket{.*le="0.05"} (\d+)\n(?s:.*)store_duration_seconds_count{.*} \1\n/', $metrics);

$round_trips = function (string $dsn, string $takeAhead) use ($redis, $scripts, $host, $has_slow_replies): float {
    $bucket = new TokenBucket(new TokenBucketStorageRedis($dsn, timeout: PATIENCE), 'hot', 100, RATE);
    $bucket->reset();
    $start = hrtime(true);
    $bucket->drain();
    $before = $scripts();
    $hosts = in_processes(2, fn () => json_decode(php_run($host, [], escapeshellarg($dsn) . " $takeAhead")));
    $trips = $scripts() - $before;
    $grants = array_merge(...array_column($hosts, 0));
    sort($grants);
    check(count($grants) === 4 * GRANTS, 'all grants');
    foreach ($grants as $place => $instant) {
        // The bucket was empty after the start, and clocks differ by less than a thousandth.
        check(($place + 1) / RATE <= ($instant - $start) / 1e9 * 1.001, "grant $place is too early");
    }
    foreach ($hosts as [, $remote, $metrics]) {
        $kept = $remote['taken_ahead'] - $remote['used_ahead'] - $remote['dropped_ahead'];
        check($kept === 0 || $kept === 1, "places: $kept");
        $takeAhead === '0' || $remote['used_ahead'] > 0 || !$has_slow_replies($metrics) || inconclusive('the machine was too slow');
        check(($remote['used_ahead'] > 0) === ($takeAhead === '0.5' || $takeAhead === 'none'), "used: $remote[used_ahead]");
    }
    return $trips / count($grants);
};

$with = $round_trips($dsn, '0.5');
check($with < 2, "$with round trips a grant");
check($round_trips("$dsn?take_ahead=0.5", 'none') < 2, 'by the DSN');
check($round_trips("$dsn?take_ahead=0.5", '0') > 0, 'the argument overrides the DSN');

// A denial states the time until the place is due.
$bucket = new TokenBucket(new TokenBucketStorageRedis($dsn, timeout: PATIENCE, takeAhead: 1), 'alone', 100, 1);
$bucket->drain(0.5);
$taken = fn () => TokenBucket\status()['remote']['taken_ahead'];
wait_for('a place', function () use ($bucket, $taken) {
    $bucket->consume();
    return $taken() > 0;
});
$denied = $bucket->attempt();
check(!$denied->allowed && $denied->reason === 'insufficient_tokens' && $denied->remaining === 0.0, 'denied');
check($denied->retryAfter > 0 && $denied->retryAfter < 1, "retryAfter: $denied->retryAfter");
$before = $scripts();
$bucket->attempt();
check($scripts() === $before, 'without a round trip');
wait_for('the grant', fn () => $bucket->attempt()->allowed);
check($scripts() === $before, 'the grant, too');
echo "Done.\n";
?>
--EXPECT--
Done.

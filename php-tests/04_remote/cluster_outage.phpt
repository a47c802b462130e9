--TEST--
A hung server of a cluster delays only calls for its keys, and those by a few timeouts in all
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/cluster.php';
require __DIR__ . '/../../testkit/php/processes.php';

const WORKERS = 8;
const SECONDS = 2.0;
const TIMEOUT = 0.1;

$servers = start_cluster();
$seeds = implode(',', array_map(fn ($server) => "127.0.0.1:$server->port", $servers));
$storage = new TokenBucketStorageRedis("redis+cluster://$seeds", 'c:', TIMEOUT);
/** Returns ten identifiers whose keys are on a server. */
$identifiers = function (int $server) use ($servers): array {
    $slot = fn (int $id) => $servers[0]->command('CLUSTER', 'KEYSLOT', "c:$id");
    $is_here = fn (int $id) => intdiv(3 * $slot($id), 16384) === $server;
    return array_slice(array_filter(range(0, 99), $is_here), 0, 10);
};
$names = array_map($identifiers, [0, 1, 2]);

$results = in_processes(WORKERS, function (int $index, callable $barrier) use ($storage, $names, $servers): array {
    $buckets = array_map(fn ($names) => array_map(fn ($name) => new TokenBucket($storage, (string) $name, 1e6, 1), $names), $names);
    // The times of calls for the keys of each server, and the fallback decisions.
    $calls = function () use ($buckets): array {
        [$times, $fallbacks] = [[[], [], []], [0, 0, 0]];
        $end = hrtime(true) + SECONDS * 1e9;
        for ($call = 0; ($now = hrtime(true)) < $end; $call++) {
            $server = $call % 3;
            $fallbacks[$server] += (int) $buckets[$server][intdiv($call, 3) % 10]->attempt()->fallback;
            $times[$server][] = hrtime(true) - $now;
            usleep(1_000);
        }
        return [$times, $fallbacks];
    };
    $calls();
    $before = $calls();
    $barrier();
    $index === 0 && $servers[0]->signal('STOP');
    $barrier();
    $after = $calls();
    $barrier();
    $index === 0 && $servers[0]->signal('CONT');
    return [$before, $after];
});
/** Returns the times of all workers' calls to servers, in order. */
$times = function (int $phase, int ...$of) use ($results): array {
    $all = array_merge(...array_map(fn ($result) => array_merge(...array_map(fn ($server) => $result[$phase][0][$server], $of)), $results));
    sort($all);
    return $all;
};
$fallbacks = fn (int $phase, int ...$of) => array_sum(array_map(fn ($result) => array_sum(array_map(fn ($server) => $result[$phase][1][$server], $of)), $results));
$p99 = fn (array $times) => $times[(int) (0.99 * count($times))] / 1e3;

[$before, $after] = [$times(0, 1, 2), $times(1, 1, 2)];
check($fallbacks(0, 0, 1, 2) === 0, 'all servers decide');
check($fallbacks(1, 1, 2) === 0, 'the others decide all their calls: ' . $fallbacks(1, 1, 2));
// Other tests run at the same time, so only a part of the timeout counts as a delay.
check($p99($after) < max(2 * $p99($before), 0.2e6 * TIMEOUT), "99 % of the others' calls take {$p99($after)} µs, {$p99($before)} before");
check(count($after) > 0.7 * count($before), 'about as many calls: ' . count($after) . ' and ' . count($before));
$paid = count(array_filter($times(1, 0), fn ($time) => $time >= 0.8e9 * TIMEOUT));
check($paid >= 3 && $paid <= 30, "$paid calls paid the timeout");
check($fallbacks(1, 0) === count($times(1, 0)), 'this host decides for the hung server');
if (getenv('TOKENBUCKET_SHOW')) {
    printf("%d calls, %d paid, p99 %.0f us before and %.0f us after\n", count($after), $paid, $p99($before), $p99($after));
}
echo "done\n";
?>
--EXPECT--
done

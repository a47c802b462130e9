--TEST--
A hung server of a cluster delays only calls for its keys, and those by a few timeouts in all
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/cluster.php';

const WORKERS = 8;
const CALLS = 50;
const TIMEOUT = 2.0;

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
/** Returns the number of timeouts of each server, and the number of all failures of each. */
$failures = function () use ($servers): array {
    foreach ($servers as $index => $server) {
        foreach (TokenBucket\status()['stores'] as $store) {
            if ($store['name'] === "redis://127.0.0.1:$server->port/0") {
                $causes[$index] = $store['causes'];
            }
        }
    }
    return [array_map(fn ($causes) => $causes['timeout'] ?? 0, $causes), array_map(array_sum(...), $causes)];
};

$results = in_processes(WORKERS, function (int $index, callable $barrier) use ($storage, $names, $servers, $failures): array {
    $buckets = array_map(fn ($names) => array_map(fn ($name) => new TokenBucket($storage, (string) $name, 1e6, 1), $names), $names);
    // Returns the number of fallback decisions for the keys of each server.
    $calls = function (int $calls) use ($buckets): array {
        $fallbacks = [0, 0, 0];
        for ($call = 0; $call < $calls; $call++) {
            foreach ($buckets as $server => $of) {
                $fallbacks[$server] += (int) $of[$call % 10]->attempt()->fallback;
            }
            usleep(1_000);
        }
        return $fallbacks;
    };
    wait_for('a worker is connected', fn () => $calls(1) === [0, 0, 0]);
    $barrier();
    $before = $failures();
    $barrier();
    $index === 0 && $servers[0]->signal('STOP');
    $barrier();
    $start = hrtime(true);
    $fallbacks = $calls(CALLS);
    $barrier();
    $seconds = (hrtime(true) - $start) / 1e9;
    $after = $failures();
    $barrier();
    $index === 0 && $servers[0]->signal('CONT');
    return [$fallbacks, $before, $after, $seconds];
});
$fallbacks = fn (int $server) => array_sum(array_map(fn ($result) => $result[0][$server], $results));
[, $before, $after, $seconds] = $results[0];
[$timeouts, $failed] = array_map(fn ($after, $before) => array_map(fn ($after, $before) => $after - $before, $after, $before), $after, $before);

check([$fallbacks(1), $fallbacks(2)] === [0, 0], "the others decide all their calls: {$fallbacks(1)} and {$fallbacks(2)} fallbacks");
check([$failed[1], $failed[2]] === [0, 0], 'no call to the others fails: ' . json_encode($failed));
check($fallbacks(0) === WORKERS * CALLS, "this host decides for the hung server: {$fallbacks(0)} fallbacks");
// Three failures open the breaker. Each worker may have begun two calls by then. After that, one
// worker at a time probes the server, and each probe takes a timeout.
$most = 2 * WORKERS + 1 + $seconds / TIMEOUT;
check($timeouts[0] >= 3 && $timeouts[0] <= $most, "$timeouts[0] calls paid the timeout, $most at the most");
check($timeouts[0] === $failed[0], 'no other failures: ' . json_encode($failed));
echo "done\n";
?>
--EXPECT--
done

--TEST--
MinuteWindow and plain PHP on ext-memcache count together
--EXTENSIONS--
pcntl
memcache
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\MinuteWindow;

const CALLS = 100;
const LIMIT = 300;

$server = MemcachedServer::startTcp();
$storage = fn () => new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE);
$memcache = memcache($server->port);

// Plain and native code call in turn. Both use the same counter, whichever of the two creates it.
foreach ([0, 1] as $first) {
    in_one_minute(function () use ($first, $storage, $memcache) {
        $ip = uniqid();
        $plain = new PlainMinuteWindow($memcache, $ip);
        $ours = new MinuteWindow($storage(), $ip);
        $passed = [0, 0];
        for ($i = 0; $i < 20; $i++) {
            $side = ($i + $first) % 2;
            $passed[$side] += (int) ($side === 0 ? $plain->limitRequestsInMinutes(10, 5) : allows($ours, 10, 5));
        }
        check(array_sum($passed) === 11 - $first, "first $first: " . json_encode($passed));
        check($memcache->get("rate$ip" . date('dHi')) === 20, 'all calls are counted');
    });
}

// All processes call at once. Plain code tests before it counts. So it allows one call too many,
// and one more call for each plain process that races. Native code creates the counter here,
// because two plain processes could race to create it.
for ($round = 0; $round < 3; $round++) {
    in_one_minute(function () use ($storage, $memcache) {
        $ip = uniqid();
        allows(new MinuteWindow($storage(), $ip), LIMIT, 5);
        $passed = in_processes(8, function (int $index, callable $barrier) use ($ip, $storage, $memcache): int {
            global $server;
            $plain = new PlainMinuteWindow(memcache($server->port), $ip);
            $ours = new MinuteWindow($storage(), $ip);
            $passed = 0;
            $barrier();
            for ($i = 0; $i < CALLS; $i++) {
                $passed += (int) ($index < 4 ? $plain->limitRequestsInMinutes(LIMIT, 5) : allows($ours, LIMIT, 5));
            }
            return $passed;
        });
        $total = 1 + array_sum($passed);
        check($memcache->get("rate$ip" . date('dHi')) === 8 * CALLS + 1, 'all calls are counted');
        // The excess is at most one call of each of the four plain processes and one more call.
        check($total >= LIMIT && $total <= LIMIT + 4 + 1, "$total passed");
    });
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
ClientThrottle matches its model on random histories on memcached
--EXTENSIONS--
memcache
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;

$seed = random_int(0, PHP_INT_MAX);
mt_srand($seed);
$history = is_slow() ? 200 : 20_000;
$quotas = [[1, 1], [3, 300], [1000, 60], [7, 3600]];

// On memcached, ClientThrottle uses the clock of this host. The test sets the time in the record
// back, which has the same effect as time that passes. The test reads the time of the call from the
// record.
$server = MemcachedServer::startTcp();
$memcache = memcache($server->port);
$throttle = new class(new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE)) extends ClientThrottle {
    protected function key($id)
    {
        return "app_$id";
    }
};
$decisions = [0, 0];
for ($i = 0; $i < $history / 10; $i++) {
    $id = mt_rand(0, 3);
    [$limit, $window] = $quotas[$id];
    $before = $memcache->get("app_$id") ?: null;
    if ($before !== null && mt_rand(0, 2) > 0) {
        $before['filled'] -= floor(mt_rand(0, 2 * $window) * 1000 / mt_rand(1, 3 * min($limit, 50)));
        $memcache->set("app_$id", $before);
    }
    $limited = $throttle->check($id, $limit, $window);
    $after = $memcache->get("app_$id");
    [$expected, $bucket] = throttle_model($before, $after['filled'], $limit, $window);
    $decisions[(int) $limited]++;
    check($limited === $expected, "call $i, seed $seed");
    check(abs($after['tokens'] - $bucket['tokens']) < 0.001, "tokens after call $i, seed $seed: $after[tokens], not $bucket[tokens]");
}
check(min($decisions) > $history / 200, 'both decisions happen: ' . json_encode($decisions));

// If plain code has left a deep debt, the next call bounds the debt.
$now = floor(1000 * microtime(true));
$memcache->set('app_debt', ['tokens' => -1e9, 'filled' => $now]);
check($throttle->check('debt', 5) && $memcache->get('app_debt')['tokens'] >= -4000, 'the debt is bounded');
// If plain code has left more tokens than the limit, only the limit is granted.
$memcache->set('app_much', ['tokens' => 99000, 'filled' => $now]);
$limited = [];
for ($i = 0; $i < 4; $i++) {
    $limited[] = $throttle->check('much', 3);
}
check($limited === [false, false, false, true], 'the refill is bounded');
// If a host whose clock is ahead has written the record, no tokens are added. The time in the
// record is not moved back.
$memcache->set('app_ahead', ['tokens' => 1000, 'filled' => $now + 60_000]);
check(!$throttle->check('ahead', 5) && $throttle->check('ahead', 5), 'a clock that is ahead');
check($memcache->get('app_ahead')['filled'] === $now + 60_000, 'stays ahead');
// If calls come more often than tokens are refilled, fractions of tokens are kept exactly.
$memcache->set('app_polled', ['tokens' => 0, 'filled' => floor(1000 * microtime(true))]);
$start = microtime(true);
$granted = 0;
do {
    $bucket = $memcache->get('app_polled');
    if ($bucket['tokens'] < 0) {
        $bucket['tokens'] += 1000;
        $memcache->set('app_polled', $bucket);
    }
    $granted += (int) !$throttle->check('polled', 1, 0.7);
    $elapsed = microtime(true) - $start;
} while ($elapsed < 0.5);
check($granted <= 1 + $elapsed / 0.7, "polling grants $granted");
echo "done\n";
?>
--EXPECT--
done

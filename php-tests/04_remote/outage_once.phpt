--TEST--
A host warns once a minute about an outage, and few of its calls contact the store
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

$calls = is_slow() ? 100 : 2000;
foreach (Store::each() as $kind => $store) {
    for ($outage = 1; $outage <= 2; $outage++) {
        check($store->is_back(), 'back before');
        $store->server->kill();
        $before = TokenBucket\status()['remote'];
        $start = hrtime(true);
        $results = in_processes(4, function () use ($store, $outage, $calls): array {
            Warnings::collect();
            $bucket = $store->bucket(OnFailure::Local, "outage $outage", 100);
            $granted = 0;
            for ($i = 0; $i < $calls; $i++) {
                $granted += (int) $bucket->consume();
            }
            return [$granted, Warnings::take()];
        });
        $after = TokenBucket\status()['remote'];
        $warnings = array_merge(...array_column($results, 1));
        echo "$kind: ", array_sum(array_column($results, 0)), ' granted, ', count($warnings), " warning\n";
        foreach (array_unique($warnings) as $warning) {
            echo "  $warning\n";
        }
        check($after['local'] - $before['local'] === 4 * $calls, 'all fell back');
        check($after['opened'] - $before['opened'] === 1, 'opened once');
        // Three failures open the breaker. Each process may have begun two calls by then. After
        // that, only probes contact the store, and each probe follows a pause.
        $asked = $after['asked'] - $before['asked'];
        check($asked >= 3 && $asked <= 4 * 2 + (hrtime(true) - $start) / 1e9 / LEAST_PAUSE, "asked $asked times");
        check($after['failed'] - $before['failed'] === $asked, 'all that was asked failed');
        $store->server->restart();
    }
    check($store->is_back(), 'back after');
    // The store decides again. The store does not count the tokens that this host granted
    // meanwhile.
    var_dump($store->bucket(OnFailure::Local, 'outage 2', 100)->peek()->remaining);
    check(TokenBucket\status()['remote']['local'] === $after['local'], 'nothing falls back any more');
}
?>
--EXPECT--
Redis: 100 granted, 1 warning
  Warning: TokenBucket::consume(): unix:redis.sock?db=0: cannot connect: Connection refused (os error); using shared memory of this host until it recovers
Redis: 100 granted, 0 warning
float(100)
Memcached: 100 granted, 1 warning
  Warning: TokenBucket::consume(): memcached at unix:memcached.sock: cannot connect: Connection refused (os error); using shared memory of this host until it recovers
Memcached: 100 granted, 0 warning
float(100)

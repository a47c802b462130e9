--TEST--
Killed or suspended store: each failure policy applies and counts calls, and each cause warns once
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

Warnings::collect();
alike(['Redis', 'Memcached'], function (string $kind) {
    $store = iterator_to_array(Store::each())[$kind];
    $plain = fn (string $text) => str_replace(['unix:redis.sock?db=0', 'memcached at unix:memcached.sock'], 'the store', $text);
    foreach (['killed' => ['kill', 'restart'], 'suspended' => ['STOP', 'CONT']] as $how => [$down, $up]) {
        echo "-- $how --\n";
        foreach (OnFailure::cases() as $policy) {
            // Each cause warns at most once a minute, so later policies cause no warning of the
            // same cause.
            check($store->is_back(TIMEOUT), "$policy->name: back before");
            $granted = 0;
            $reasons = [];
            check($store->state()['breaker'] === 'closed' && $store->state()['failures'] === 0, 'closed before');
            $opened = $store->state()['opened'];
            $down === 'kill' ? $store->server->kill() : $store->server->signal($down);
            $bucket = $store->bucket($policy, "$how $policy->name", timeout: TIMEOUT);
            $start = hrtime(true);
            $open_since = null;
            $changes = changes(function () use ($store, $bucket, $opened, &$granted, &$reasons, &$open_since): void {
                for ($i = 0; $i < 10; $i++) {
                    if ($open_since === null && $store->state()['opened'] > $opened) {
                        check($store->state()['failures'] === 3, 'three failures open the breaker');
                        $open_since = hrtime(true);
                    }
                    try {
                        $decision = $bucket->attempt();
                        $granted += (int) $decision->allowed;
                        $reasons[$decision->reason] = true;
                    } catch (TokenBucket\StorageException $e) {
                        $reasons[preg_replace('/ \(.*|: Resource.*/', '', substr(strrchr(Warnings::plain($e->getMessage()), ': '), 2))] = true;
                    }
                }
            });
            // On a slow machine, some calls also probe the store, each after a pause. Only these
            // probes and the first three calls may wait for the timeout.
            preg_match('/asked \+(\d+), failed \+(\d+)/', $changes, $match);
            $probes = (int) $match[1] - 3;
            check($match[1] === $match[2], "$policy->name: all that was asked failed: $changes");
            check($probes >= 0 && $probes <= (hrtime(true) - $open_since) / 1e9 / LEAST_PAUSE, "$policy->name: $probes probes");
            echo $policy->name, ': ', preg_replace('/(asked|failed) \+\d+/', '$1 +3', $changes), "\n";
            echo "  granted $granted, ", implode(', ', array_keys($reasons)), "\n";
            foreach (Warnings::take() as $warning) {
                echo '  ', $plain($warning), "\n";
            }
            $state = $store->state();
            check($state['breaker'] === 'open' && $state['failures'] === 3 + $probes && $state['opened'] === $opened + 1, json_encode($state));
            check($state['retry_after'] <= 0.1 * 2 ** $probes && str_starts_with($store->name(), $state['name']), json_encode($state));
            $cause = $how === 'killed' ? 'cannot connect' : 'no reply';
            check(str_starts_with($state['last_cause'], $cause) && $state['last_cause_age'] <= (hrtime(true) - $start) / 1e9, json_encode($state));
            check($state['causes'][$how === 'killed' ? 'connect' : 'timeout'] >= 3, json_encode($state));
            $up === 'restart' ? $store->server->restart() : $store->server->signal($up);
        }
        check($store->is_back(TIMEOUT), 'back in the end');
        check(Warnings::take() === [], 'a warning after the outage');
    }
});
$nowhere = new TokenBucketStorageRedis('unix:///nowhere', onFailure: OnFailure::Deny);
check(!(new TokenBucket($nowhere, 'x', 1, 1))->consume(), 'denied');
echo implode("\n", Warnings::take()), "\n";
?>
--EXPECT--
-- killed --
Local: asked +3, failed +3, opened +1, local +10
  granted 5, granted, insufficient_tokens
  Warning: TokenBucket::attempt(): the store: cannot connect: Connection refused (os error); using shared memory of this host until it recovers
Allow: asked +3, failed +3, opened +1, allowed +10
  granted 10, granted
Deny: asked +3, failed +3, opened +1, denied +10
  granted 0, unavailable
Throw: asked +3, failed +3, opened +1, thrown +10
  granted 0, Connection refused, not contacted, because its breaker is open
-- suspended --
Local: asked +3, failed +3, opened +1, local +10
  granted 5, granted, insufficient_tokens
  Warning: TokenBucket::attempt(): the store: no reply within the timeout; using shared memory of this host until it recovers
Allow: asked +3, failed +3, opened +1, allowed +10
  granted 10, granted
Deny: asked +3, failed +3, opened +1, denied +10
  granted 0, unavailable
Throw: asked +3, failed +3, opened +1, thrown +10
  granted 0, no reply within the timeout, not contacted, because its breaker is open
Warning: TokenBucket::consume(): unix:///nowhere?db=0: cannot connect: No such file or directory (os error); denying all calls until it recovers

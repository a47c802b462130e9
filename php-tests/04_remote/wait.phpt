--TEST--
wait() on a remote storage reserves the tokens in one round trip
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

foreach (Store::each() as $kind => $store) {
    $proxy = new Proxy("unix://{$store->server->socket}");
    $class = "TokenBucketStorage$kind";
    foreach ([true, false] as $denialCache) {
        $storage = new $class(
            ($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port", json_encode($denialCache), PATIENCE, OnFailure::Throw, $denialCache
        );
        $bucket = new TokenBucket($storage, 'x', 2, 10);
        $start = hrtime(true);
        check($bucket->wait(1, 2)->allowed, "$kind: at once");
        $before = $proxy->roundTrips();
        // If the call waited for the whole timeout, the test would be killed.
        $decision = $bucket->wait(900, 2);
        $waited = (hrtime(true) - $start) / 1e9;
        $trips = $proxy->roundTrips() - $before;
        check($decision->allowed && $decision->remaining === 0.0, "$kind: granted");
        check($waited >= 0.198, "$kind: waited $waited s");
        // The tokens are reserved in one round trip.
        check($trips === 1, "$kind: $trips round trips");

        $slowly = new TokenBucket($storage, 'slowly', 2, 0.001);
        $slowly->consume(2);
        $decision = $slowly->wait(800);
        check(!$decision->allowed && $decision->reason === 'insufficient_tokens' && $decision->retryAfter > 900, "$kind: in vain");
        $before = $proxy->roundTrips();
        check($slowly->wait(5, 3)->reason === 'exceeds_capacity' && $proxy->roundTrips() <= $before + 1, "$kind: more than the capacity");
        check(!$slowly->wait(0)->allowed, "$kind: no time");
    }

    // Processes that wait for the same bucket are granted exactly its tokens.
    $storage = $store->storage(OnFailure::Throw, 'many:', true);
    $bucket = new TokenBucket($storage, 'x', 5, 20);
    $start = hrtime(true);
    $bucket->consume(5);
    $granted = array_sum(in_processes(4, function () use ($bucket): int {
        $granted = 0;
        for ($i = 0; $i < 5; $i++) {
            $granted += (int) $bucket->wait(900)->allowed;
        }
        return $granted;
    }));
    $took = (hrtime(true) - $start) / 1e9;
    check($granted === 20 && $took >= 0.99, "$kind: $granted granted in $took s");

    // The server is killed during the wait, after the tokens were reserved.
    set_error_handler(fn () => true);
    $address = ($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port";
    $bucket = new TokenBucket(new $class($address, 'outage:', PATIENCE, OnFailure::Deny, false), 'x', 1, 0.8);
    $bucket->consume();
    in_processes(2, function (int $index, callable $barrier) use ($store, $proxy, $bucket, $kind): void {
        // This call connects, so that wait() makes only one round trip, which reserves the tokens.
        $index === 1 && $bucket->peek();
        $barrier();
        // Only one process at a time may read the counters of the proxy.
        $before = $index === 0 ? $proxy->counts()['reply_bytes'] : 0;
        $barrier();
        if ($index === 0) {
            wait_for('the tokens are reserved', fn () => $proxy->counts()['reply_bytes'] > $before);
            send_signal('KILL', $store->server->pid);
            return;
        }
        $decision = $bucket->wait(3);
        check($decision->allowed, "$kind: outage: $decision->reason");
        check($bucket->wait(3)->reason === 'unavailable', "$kind: after the wait");
    });
    restore_error_handler();
}
echo "done\n";
?>
--EXPECT--
done

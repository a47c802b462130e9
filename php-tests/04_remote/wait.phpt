--TEST--
wait() on a remote storage reserves the tokens in one round trip
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';
require __DIR__ . '/../../testkit/php/proxy.php';

use TokenBucket\OnFailure;

$slow = is_slow();
foreach (Store::each() as $kind => $store) {
    $proxy = new Proxy("unix://{$store->server->socket}");
    $class = "TokenBucketStorage$kind";
    foreach ([true, false] as $hints) {
        $storage = new $class(
            ($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port", json_encode($hints), $slow ? 20.0 : 2.0, OnFailure::Throw, $hints
        );
        $bucket = new TokenBucket($storage, 'x', 2, 10);
        check($bucket->wait(1, 2)->allowed, "$kind: at once");
        $before = $proxy->roundTrips();
        $start = hrtime(true);
        $decision = $bucket->wait(5, 2);
        $waited = (hrtime(true) - $start) / 1e9;
        $trips = $proxy->roundTrips() - $before;
        check($decision->allowed && $decision->remaining === 0.0, "$kind: granted");
        check(($slow || $waited > 0.15) && $waited < ($slow ? 5 : 1.2), "$kind: waited $waited s");
        // The tokens are reserved in one round trip.
        check($trips === 1, "$kind: $trips round trips");

        $slowly = new TokenBucket($storage, 'slowly', 2, 0.001);
        $slowly->consume(2);
        $start = hrtime(true);
        $decision = $slowly->wait(5);
        check(!$decision->allowed && $decision->reason === 'insufficient_tokens' && $decision->retryAfter > 900, "$kind: in vain");
        check((hrtime(true) - $start) / 1e9 < 2, "$kind: in vain, at once");
        $before = $proxy->roundTrips();
        check($slowly->wait(5, 3)->reason === 'exceeds_capacity' && $proxy->roundTrips() === $before, "$kind: more than the capacity");
        check(!$slowly->wait(0)->allowed, "$kind: no time");
    }

    // Processes that wait for the same bucket are granted exactly its tokens.
    $storage = $store->storage(OnFailure::Throw, 'many:', true);
    $bucket = new TokenBucket($storage, 'x', 5, 20);
    $bucket->consume(5);
    $start = hrtime(true);
    $granted = array_sum(in_processes(4, function () use ($bucket): int {
        $granted = 0;
        for ($i = 0; $i < 5; $i++) {
            $granted += (int) $bucket->wait(20)->allowed;
        }
        return $granted;
    }));
    $took = (hrtime(true) - $start) / 1e9;
    check($granted === 20 && $took >= 0.75 && $took < ($slow ? 20 : 3), "$kind: $granted granted in $took s");

    // The server is killed during the wait, after the tokens were reserved.
    set_error_handler(fn () => true);
    $bucket = new TokenBucket($store->storage(OnFailure::Deny, 'outage:'), 'x', 1, 0.8);
    $bucket->consume();
    in_processes(2, function (int $index) use ($store, $bucket, $kind): void {
        if ($index === 0) {
            usleep(100_000);
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

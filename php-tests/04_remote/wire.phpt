--TEST--
Cut, lost and late replies: the timeout ends the call, no request is repeated, no replies are mixed up
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

// The pause after each byte of a reply that comes too late, in milliseconds. A reply has more than
// 25 bytes, so it takes longer than the timeout of 0.25 s.
const LATE = 20;

foreach (Store::each() as $kind => $store) {
    $proxy = new Proxy("unix://{$store->server->socket}");
    $class = "TokenBucketStorage$kind";
    $left = fn (string $name) => (new TokenBucket($store->storage(OnFailure::Throw), $name, 100, 1e-6))->peek()->remaining;
    foreach ([
        'half a reply' => [Proxy::HALF_REPLY, 0, 99.0],
        'no reply' => [Proxy::SWALLOW_REPLIES, 0, 99.0],
        'no request' => [Proxy::SWALLOW_REQUESTS, 0, 100.0],
        'byte by byte, in time' => [Proxy::DRIP, 1, 99.0],
        'byte by byte, too late' => [Proxy::DRIP, LATE, 99.0],
    ] as $what => [$mode, $pause, $expected]) {
        foreach ([false, true] as $connected) {
            $name = "$what " . json_encode($connected);
            $fails = $what !== 'byte by byte, in time';
            $storage = new $class(
                ($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port", 'p:', $fails ? 0.25 : PATIENCE, OnFailure::Throw, false
            );
            // Opens a connection, and lets the store recover from earlier failures.
            $proxy->set(Proxy::PASS);
            $proxy->cut();
            wait_for("$kind: $name: works before", fn () => thrown(fn () => (new TokenBucket($storage, 'before', 100, 1))->peek()) === 'nothing thrown');
            if (!$connected) {
                $proxy->cut();
            }
            $proxy->set($mode, $pause);
            // If the timeout began again with each byte, the late reply would arrive in time.
            $said = thrown(fn () => check((new TokenBucket($storage, $name, 100, 1e-6))->consume(), 'granted'));
            check(str_contains($said, 'StorageException') === $fails, "$kind: $name: $said");
            $proxy->set(Proxy::PASS);
            // Checks that a request that reached the server took effect exactly once.
            wait_for("$kind: $name: takes effect", fn () => $left($name) <= $expected);
            check($left($name) === $expected, "$kind: $name: " . $left($name) . ' left');
            // Checks that the next call does not read the rest of a late reply. On a busy machine a
            // call may fail and still take tokens. So each try uses another bucket.
            $decision = null;
            $try = 0;
            wait_for("$kind: $name: works after", function () use ($storage, $name, &$decision, &$try): bool {
                $other = new TokenBucket($storage, "$name, other " . $try++, 50, 1e-6);
                return thrown(function () use ($other, &$decision): void {
                    $decision = $other->attempt(7);
                }) === 'nothing thrown';
            });
            check($decision->remaining === 43.0, "$kind: $name: another bucket: " . json_encode($decision));
        }
    }
}
echo "done\n";
?>
--EXPECT--
done

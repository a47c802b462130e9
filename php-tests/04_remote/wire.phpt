--TEST--
Cut, lost and late replies: the timeout holds, no request is repeated, no replies are mixed up
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    die('skip times matter');
}
?>
--FILE--
<?php
require __DIR__ . '/outage.inc.php';
require __DIR__ . '/../../testkit/php/proxy.php';

use TokenBucket\OnFailure;

foreach (Store::each() as $kind => $store) {
    $proxy = new Proxy("unix://{$store->server->socket}");
    $class = "TokenBucketStorage$kind";
    $left = fn (string $name) => (new TokenBucket($store->storage(OnFailure::Throw), $name, 100, 1e-6))->peek()->remaining;
    foreach ([
        'half a reply' => [Proxy::HALF_REPLY, 0, 99.0],
        'no reply' => [Proxy::SWALLOW_REPLIES, 0, 99.0],
        'no request' => [Proxy::SWALLOW_REQUESTS, 0, 100.0],
        'byte by byte, in time' => [Proxy::DRIP, 1, 99.0],
        'byte by byte, too late' => [Proxy::DRIP, 10, 99.0],
    ] as $what => [$mode, $pause, $expected]) {
        foreach ([false, true] as $connected) {
            $name = "$what " . json_encode($connected);
            $storage = new $class(($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port", 'p:', 0.25, OnFailure::Throw, false);
            // Opens a connection, and lets the store recover from earlier failures.
            $proxy->set(Proxy::PASS);
            $proxy->cut();
            for ($i = 0; $i < 100; $i++) {
                try {
                    (new TokenBucket($storage, 'before', 100, 1))->peek();
                    break;
                } catch (TokenBucket\StorageException) {
                    usleep(50_000);
                }
            }
            check($i < 100, "$kind: $name: works before");
            if (!$connected) {
                $proxy->cut();
            }
            $proxy->set($mode, $pause);
            $start = hrtime(true);
            $said = thrown(fn () => check((new TokenBucket($storage, $name, 100, 1e-6))->consume(), 'granted'));
            $took = (hrtime(true) - $start) / 1e9;
            check($took < 0.35, "$kind: $name: took $took s");
            $fails = $what !== 'byte by byte, in time';
            check(str_contains($said, 'StorageException') === $fails, "$kind: $name: $said");
            $proxy->set(Proxy::PASS);
            // Checks that a request that reached the server took effect exactly once.
            usleep(20_000);
            check($left($name) === $expected, "$kind: $name: " . $left($name) . ' left');
            // Checks that the next call does not read the rest of a late reply.
            $other = new TokenBucket($storage, "$name, other", 50, 1e-6);
            $decision = null;
            for ($i = 0; $i < 100 && $decision === null; $i++) {
                try {
                    $decision = $other->attempt(7);
                } catch (TokenBucket\StorageException) {
                    usleep(20_000);
                }
            }
            check($decision?->remaining === 43.0, "$kind: $name: another bucket: " . json_encode($decision));
        }
    }
}
echo "done\n";
?>
--EXPECT--
done

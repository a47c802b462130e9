--TEST--
In an event loop, reserve() and timers pace 100 requests while Redis is slow or hangs, and other work goes on
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/skip_slow.php';
is_dir(__DIR__ . '/../../target/revolt') || die('skip Revolt is not unpacked: run scripts/setup revolt');
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

use Revolt\EventLoop;

const REQUESTS = 100;
const CAPACITY = 10;
const RATE = 50;

spl_autoload_register(fn (string $class) => require __DIR__ . '/../../target/revolt/usr/share/php/' . strtr($class, '\\', '/') . '.php');

/**
 * Reserves a token for each request, and starts the request with a timer. Prints how many requests
 * started, how many started earlier than the limit allows, how many calls of the loop to Redis
 * followed each other without other work, and how many decisions Redis made.
 */
function pace(TokenBucketStorage $storage, bool $waits = true): void
{
    $bucket = new TokenBucket($storage, 'requests', CAPACITY, RATE);
    $started = $early = $idle = $byRedis = $ticks = 0;
    $others = EventLoop::repeat(0, function () use (&$ticks) {
        $ticks++;
    });
    $suspension = EventLoop::getSuspension();
    $begin = hrtime(true);
    for ($request = 1; $request <= REQUESTS; $request++) {
        $seen = $ticks;
        $reservation = $bucket->reserve();
        $byRedis += (int) !$reservation->decision->fallback;
        EventLoop::delay($waits ? $reservation->delay : 0, function () use (&$started, &$early, $begin, $request) {
            $started++;
            $early += (int) ((hrtime(true) - $begin) / 1e9 + 1e-6 < ($request - CAPACITY) / RATE);
        });
        // Gives the loop a turn, so that it is blocked by one call at a time.
        EventLoop::delay(0, fn () => $suspension->resume());
        $suspension->suspend();
        $idle += (int) ($ticks === $seen);
    }
    EventLoop::cancel($others);
    EventLoop::run();
    $early = $early > 0 ? 'some' : 'none';
    echo "$started started, $early too early, $idle calls without other work, $byRedis decided by Redis\n";
}

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$storage = fn (string $prefix, float $timeout) => new TokenBucketStorageRedis("redis://127.0.0.1:$proxy->port", $prefix, $timeout);
echo "-- the control does not wait for its timers --\n";
pace($storage('control', 5.0), false);
echo "-- each byte of a reply takes a millisecond --\n";
$proxy->set(Proxy::DRIP, 1);
pace($storage('slow', 5.0));
echo "-- no reply arrives, so this host decides --\n";
$proxy->set(Proxy::SWALLOW_REPLIES);
$asked = fn (): int => TokenBucket\status()['remote']['asked'];
$before = $asked();
ini_set('error_log', '/dev/null');
pace($storage('hung', 0.05));
check($asked() - $before < 10, 'the breaker ends the waits for a server that hangs: ' . ($asked() - $before));
?>
--EXPECT--
-- the control does not wait for its timers --
100 started, some too early, 0 calls without other work, 100 decided by Redis
-- each byte of a reply takes a millisecond --
100 started, none too early, 0 calls without other work, 100 decided by Redis
-- no reply arrives, so this host decides --
100 started, none too early, 0 calls without other work, 0 decided by Redis

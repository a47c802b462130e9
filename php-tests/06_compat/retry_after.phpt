--TEST--
After a denial, retryAfter() is the time to wait, and hits() counts what a leaky bucket holds
--INI--
date.timezone=UTC
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/limiters.inc.php';

use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\OnFailure;

echo "-- exact on a clock that the test advances --\n";
foreach (KINDS as $kind) {
    foreach ([0, 1e-6] as $early) {
        $memory = new TokenBucketStorageMemory;
        [$limiter, $request] = limiter($kind, $memory, 60, 3, 'x');
        check($limiter->retryAfter() === 0.0, "$kind: before the first request");
        check($request() && $request() && $request() && $limiter->retryAfter() === 0.0, "$kind: while it allows");
        $memory->advance(7.5);
        check(!$request(), "$kind: denied");
        $wait = $limiter->retryAfter();
        $memory->advance($wait - $early);
        check($request() === ($early == 0), "$kind: $early s before its end, of $wait s");
        check(($limiter->retryAfter() === 0.0) === ($early == 0), "$kind: " . $limiter->retryAfter());
    }
    if ($kind === 'LeakyBucket') {
        // The bucket leaks at multiples of its period, so the wait depends on the clock.
        check($wait > 0 && $wait <= 20, "$kind: waits $wait s");
        continue;
    }
    [$limiter, $request] = limiter($kind, new TokenBucketStorageMemory, 60, 0, 'x');
    $request();
    echo "$kind: $wait s; without a limit: ", $limiter->retryAfter(), "\n";
}

echo "-- hits --\n";
$servers = ['memory' => new TokenBucketStorageMemory];
$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$throw = ['timeout' => PATIENCE, 'onFailure' => OnFailure::Throw];
$servers['redis'] = new TokenBucketStorageRedis("unix://$redis->socket", ...$throw);
foreach ($servers as $what => $storage) {
    foreach ([false, true] as $dry) {
        $bucket = new LeakyBucket($storage, 3600, 3, $dry);
        $said = [$bucket->hits()];
        for ($i = 0; $i < 5; $i++) {
            $admitted = $bucket->request("who$dry", 'search');
            $said[] = $bucket->hits() . ($admitted ? '+' : '-') . ($bucket->retryAfter() > 0 ? 'w' : '');
        }
        echo $what, $dry ? ', dry run: ' : ': ', implode(' ', $said), "\n";
    }
}

echo "-- on servers --\n";
$servers['memcached'] = new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", ...$throw);
unset($servers['memory']);
foreach ($servers as $what => $storage) {
    in_one_minute(function () use ($what, $storage, $redis, $memcached) {
        $id = uniqid();
        $count = function (int $ago, int $count) use ($what, $id, $redis, $memcached): void {
            $name = "rate$id" . date('dHi', time() - 60 * $ago);
            $what === 'redis'
                ? $redis->command('SET', "tokenbucket:$name", (string) $count)
                : $memcached->command("set $name 768 0 " . strlen($count) . "\r\n$count", 'STORED');
        };
        $window = new MinuteWindow($storage, $id);
        $count(4, 3);
        $count(2, 4);
        $waits = [];
        foreach ([8, 8, 9, 5, 4, 1, 0] as $allowed) {
            $start = time();
            allows($window, $allowed, 5);
            $left = $window->retryAfter();
            $waits[] = $left > 0 && $left < INF ? ceil($left / 60) : $left;
            // The wait begins during the call, and ends when a minute ends.
            $ends = array_map(fn (int $second) => fmod($left + $second, 60), range($start, time()));
            check(is_infinite($left) || $left == 0 || in_array(0.0, $ends), "$what: ends at $left s");
        }
        echo "$what, MinuteWindow: ", implode(' ', $waits), " minutes\n";
    });
}

echo "-- outages --\n";
foreach ([OnFailure::Local, OnFailure::Allow, OnFailure::Deny] as $policy) {
    $said = [];
    foreach (KINDS as $kind) {
        $down = new TokenBucketStorageRedis('unix:///nowhere', onFailure: $policy);
        [$limiter, $request] = limiter($kind, $down, 3600, 1, $policy->name);
        @$request();
        $said[] = @$request() ? 'allowed ' . $limiter->retryAfter() : 'denied ' . ($limiter->retryAfter() > 0 ? 'for a time' : '0');
    }
    echo "$policy->name: ", implode(', ', $said), "\n";
}
$copy = clone $limiter;
check($copy->retryAfter() === $limiter->retryAfter(), 'a copy knows it, too');
?>
--EXPECT--
-- exact on a clock that the test advances --
MinuteWindow: 32.5 s; without a limit: INF
ClientThrottle: 32.5 s; without a limit: INF
RateLimiter: 12.5 s; without a limit: INF
-- hits --
memory: 0 1+ 2+ 3+ 3-w 3-w
memory, dry run: 0 1+ 2+ 3+ 3+w 3+w
redis: 0 1+ 2+ 3+ 3-w 3-w
redis, dry run: 0 1+ 2+ 3+ 3+w 3+w
-- on servers --
redis, MinuteWindow: 0 1 1 3 5 5 INF minutes
memcached, MinuteWindow: 0 1 1 3 5 5 INF minutes
-- outages --
Local: denied for a time, allowed 0, denied for a time, denied for a time
Allow: allowed 0, allowed 0, allowed 0, allowed 0
Deny: denied for a time, denied for a time, denied for a time, denied for a time

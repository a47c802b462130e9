--TEST--
Each limiter leaves foreign records unchanged and follows onFailure, also when its server is down
--EXTENSIONS--
memcache
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/limiters.inc.php';

use TokenBucket\OnFailure;

fold_equal_lines();
// Seconds in which no token is refilled during the test.
const LONG = ['MinuteWindow' => 300, 'ClientThrottle' => 1e8, 'RateLimiter' => 1e8, 'LeakyBucket' => 1e6];

class Spy
{
    public function __wakeup()
    {
        echo "unserialised\n";
    }
}
$memcached = MemcachedServer::startTcp();
$redis = RedisServer::start();
$memcache = memcache($memcached->port);
$storages = [
    'memcached' => fn (OnFailure $policy) => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", onFailure: $policy, timeout: PATIENCE),
    'redis' => fn (OnFailure $policy) => new TokenBucketStorageRedis("unix://$redis->socket", onFailure: $policy, timeout: PATIENCE),
];
set_error_handler(function (int $level, string $message): bool {
    $level === E_DEPRECATED || print([E_WARNING => 'Warning: ', E_USER_WARNING => 'User: '][$level] . preg_replace(['/at \S+|unix:\S+/', '/_\w{13}$/'], ['…', ''], $message) . "\n");
    return true;
});
/** Sends four requests to a limiter of two. Returns a sign for each, or the exception. */
$requests = function (string $kind, callable $storage, OnFailure $policy, string $id): string {
    [$limiter, $request] = limiter($kind, $storage($policy), LONG[$kind], 2, $id);
    try {
        $said = implode(array_map(fn () => $request() ? '+' : '-', range(1, 4)));
    } catch (TokenBucket\StorageException $e) {
        return preg_replace('/.*(?=the key|cannot connect|its breaker).*?(the key .*|)$/', '$1', $e->getMessage()) ?: 'down';
    }
    return $said;
};
$each_policy = function (string $what, callable $answer): void {
    $said = [];
    foreach (OnFailure::cases() as $policy) {
        $said[] = "$policy->name " . $answer($policy);
    }
    echo "$what: ", implode(', ', $said), "\n";
};

foreach ([0, 1] as $ago) {
    foreach ($storages as $store => $storage) {
        $each_policy("MinuteWindow, $store, $ago", function (OnFailure $policy) use ($ago, $storage, $requests, $memcache, $redis): string {
            $said = '';
            in_one_minute(function () use ($ago, $policy, $storage, $requests, $memcache, $redis, &$said) {
                $id = uniqid();
                $key = "rate$id" . date('dHi', time() - 60 * $ago);
                $memcache->set($key, 'foreign', 0, 100);
                $redis->command('SET', "tokenbucket:$key", 'foreign');
                $said = $requests('MinuteWindow', $storage, $policy, $id);
                check($memcache->get($key) === 'foreign' && $redis->command('GET', "tokenbucket:$key") === 'foreign', 'the records stay');
            });
            return $said;
        });
    }
}
foreach ([
    'text' => fn ($key) => $memcache->set($key, 'foreign'),
    'object' => fn ($key) => $memcache->set($key, new Spy),
    'other array' => fn ($key) => $memcache->set($key, ['tokens' => 1000, 'filled' => 1.0, 'more' => 1]),
    'compressed' => fn ($key) => $memcached->command("set $key 3 0 4\r\nzlib", 'STORED'),
] as $what => $put) {
    $each_policy("ClientThrottle, $what", function (OnFailure $policy) use ($put, $storages, $requests, $memcached, $memcache): string {
        $id = uniqid();
        $put("throttle_$id");
        $record = fn () => $memcached->command("mg throttle_$id v f t\r\nmn", 'MN');
        $before = $record();
        $said = $requests('ClientThrottle', $storages['memcached'], $policy, $id);
        check($record() === $before && $memcache->get("throttle_{$id}_lock") === false, 'the record stays, and no lock');
        return $said;
    });
}

foreach ([
    'RateLimiter' => fn (string $id) => $id,
    'LeakyBucket' => fn (string $id) => flexihash(sets(), "$id-a"),
    'LeakyBucket, control' => fn (string $id) => flexihash(sets(), "$id-a") . ':control',
] as $what => $key) {
    $each_policy($what, function (OnFailure $policy) use ($what, $key, $storages, $requests, $redis): string {
        $id = uniqid();
        $redis->command('FLUSHALL');
        $redis->command('SET', $key($id), 'foreign');
        $said = $requests(strtok($what, ','), $storages['redis'], $policy, $id);
        check($redis->command('KEYS', '*') === [$key($id)] && $redis->command('GET', $key($id)) === 'foreign', 'the record stays');
        return $said;
    });
}

echo "-- down --\n";
$memcached->kill();
$redis->kill();
foreach (KINDS as $kind) {
    foreach ($storages as $store => $storage) {
        $each_policy("$kind, $store", fn (OnFailure $policy) => $requests($kind, $storage, $policy, uniqid()));
    }
}
[$leaky] = limiter('LeakyBucket', $storages['redis'](OnFailure::Allow), 60, 2, 'x');
check($leaky->locked() === [] && $leaky->cleanup() === null, 'nothing is known');
// A call throws the exception that the error handler throws.
set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
[$throttle] = limiter('ClientThrottle', $storages['memcached'](OnFailure::Allow), 60, 2, 'x');
echo thrown(fn () => $throttle->check('a', 1)), "\n";
?>
--EXPECT--
Warning: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): memcached … the key does not hold a record of this limiter; using shared memory of this host
MinuteWindow, memcached, 0: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
Warning: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): … the key does not hold a record of this limiter; using shared memory of this host
MinuteWindow, redis, 0: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
MinuteWindow, memcached, 1: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
MinuteWindow, redis, 1: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
ClientThrottle, text: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
ClientThrottle, object: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
ClientThrottle, other array: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
ClientThrottle, compressed: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
RateLimiter: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
LeakyBucket: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
LeakyBucket, control: Local ++--, Allow ++++, Deny ----, Throw the key does not hold a record of this limiter
-- down --
Warning: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): memcached … cannot connect: Connection refused (os error 111); using shared memory of this host until it recovers
MinuteWindow, memcached: Local ++--, Allow ++++, Deny ----, Throw down
Warning: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): … cannot connect: Connection refused (os error 111); using shared memory of this host until it recovers
MinuteWindow, redis: Local ++--, Allow ++++, Deny ----, Throw down
User: Unable to obtain lock ob throttle (8 times)
ClientThrottle, memcached: Local ++++, Allow ++++, Deny ----, Throw down
User: Unable to obtain lock ob throttle (8 times)
ClientThrottle, redis: Local ++++, Allow ++++, Deny ----, Throw down
RateLimiter, memcached: Local ++--, Allow ++++, Deny ----, Throw down
RateLimiter, redis: Local ++--, Allow ++++, Deny ----, Throw down
LeakyBucket, memcached: Local ++--, Allow ++++, Deny ----, Throw down
LeakyBucket, redis: Local ++--, Allow ++++, Deny ----, Throw down
ErrorException: Unable to obtain lock ob throttle_a

<?php
/**
 * Defines the limiters in common use, in plain PHP on ext-memcache and phpredis.
 *
 * The classes of TokenBucket\Compat share the records of these limiters.
 */

/**
 * Returns a client of one server. ext-memcache creates a dynamic property, which PHP 8.2
 * deprecates.
 */
function memcache(int $port): Memcache
{
    $memcache = new Memcache;
    // The connection is not persistent, because forked processes would share it.
    @$memcache->addServer('127.0.0.1', $port, false);
    return $memcache;
}

/** Counts requests by minute. Returns false above the limit, where the original throws. */
final class PlainMinuteWindow
{
    public function __construct(private Memcache $memcache, private string $ip, private string $prefix = 'rate')
    {
    }

    public function limitRequestsInMinutes(int $allowedRequests, int $minutes): bool
    {
        $requests = 0;
        $now = time();
        $found = false;
        for ($time = $now - $minutes * 60; $time <= $now; $time += 60) {
            $key = $this->prefix . $this->ip . date('dHi', $time);
            $found = $this->memcache->get($key);
            $requests += (int) $found;
        }
        if ($found === false) {
            $this->memcache->set($key, 1, 0, $minutes * 60 + 1);
        } else {
            $this->memcache->increment($key, 1);
        }
        return $requests <= $allowedRequests;
    }
}

/**
 * Keeps an array of tokens under a lock.
 *
 * The published code tests the lock the wrong way round. With $asPublished, so does this class.
 */
final class PlainClientThrottle
{
    public int $openings = 0;

    public function __construct(private Memcache $cache, private bool $asPublished = false)
    {
    }

    public function check(string $key, float $limit, float $window = 300): bool
    {
        $lock_key = "{$key}_lock";
        $have_lock = false;
        for ($i = 0; $i < 10; $i++) {
            if ($this->cache->add($lock_key, 1, 0, 15) === $this->asPublished) {
                usleep(25000);
            } else {
                $have_lock = true;
                break;
            }
        }
        if (!$have_lock) {
            $this->openings++;
            return false;
        }
        $now = floor(1000 * microtime(true));
        $bucket = $this->cache->get($key);
        if (!is_array($bucket) || $bucket['filled'] < $now - 1000 * $window) {
            $bucket = ['tokens' => 1000 * $limit, 'filled' => $now];
        }
        if ($bucket['filled'] < $now) {
            $bucket['tokens'] += floor(1000 * ($now - $bucket['filled']) * $limit / (1000 * $window));
            $bucket['filled'] = $now;
        }
        $bucket['tokens'] -= 1000;
        $this->cache->set($key, $bucket);
        $this->cache->delete($lock_key);
        return $bucket['tokens'] < 0;
    }
}

/** Takes a token from a JSON bucket under optimistic locking, and retries after a lost race. */
function plain_rate_limiter(Redis $redis, string $key, int $initNum, int $expire): bool
{
    for (;;) {
        $now = time();
        $redis->watch($key);
        $record = $redis->get($key);
        $data = $record ? json_decode($record, true) : ['num' => $initNum, 'time' => $now];
        $num = min($initNum, $data['num'] + $initNum / $expire * ($now - $data['time'])) - 1;
        if ($num < 0) {
            $redis->unwatch();
            return false;
        }
        $redis->multi();
        $redis->set($key, json_encode(['num' => $num, 'time' => $now]));
        if ($redis->exec()) {
            return true;
        }
    }
}

/**
 * A JSON bucket under WATCH, as published. A grant takes five round trips. If EXEC fails because
 * another process has changed the record, the call is denied. One token of a full bucket is never
 * granted.
 */
final class WatchingRateLimiter
{
    public function __construct(
        private readonly Redis $redis,
        private readonly string $key,
        private readonly int $limit,
        private readonly int $seconds,
    ) {
    }

    public function handler(): bool
    {
        $now = time();
        $this->redis->watch($this->key);
        $record = $this->redis->get($this->key);
        $bucket = $record ? json_decode($record, true) : ['num' => $this->limit, 'time' => $now];
        $refill = $this->limit / $this->seconds * ($now - $bucket['time']);
        $left = min($this->limit, $bucket['num'] - 1 + $refill);
        if ($left <= 0) {
            return false;
        }
        $this->redis->multi();
        $this->redis->set($this->key, json_encode(['num' => $left, 'time' => $now]));
        return (bool) $this->redis->exec();
    }
}

/** Reads the hits, then adds a hit. Other processes may add hits between the two round trips. */
function plain_request(Redis $redis, string $set, string $member, int $limit): bool
{
    if ($redis->zScore($set, $member) >= $limit) {
        $redis->zIncrBy('locked', 1, $member);
        return false;
    }
    $redis->multi();
    $redis->zIncrBy($set, 1, $member);
    $redis->zAdd("$set:control", -1, $member);
    $redis->exec();
    return true;
}

/** Runs the clean-up that cron runs once in each period. */
function plain_cleanup(Redis $redis, array $sets): void
{
    foreach ($sets as $set) {
        $redis->zRemRangeByScore($set, '-inf', '1');
        $redis->zInterStore("$set:control", ["$set:control", $set], [1, 0], 'SUM');
        $redis->zInterStore($set, [$set, "$set:control"], [1, 1], 'SUM');
    }
}

/** Returns the target of a resource, by the consistent hashing of the library Flexihash. */
function flexihash(array $targets, string $resource): string
{
    static $rings = [];
    $ring = &$rings[implode(' ', $targets)];
    if ($ring === null) {
        $ring = [];
        foreach ($targets as $target) {
            for ($i = 0; $i < 64; $i++) {
                $ring[crc32($target . $i)] = $target;
            }
        }
        ksort($ring);
    }
    $place = crc32($resource);
    foreach ($ring as $position => $target) {
        if ($position > $place) {
            return $target;
        }
    }
    return reset($ring);
}

/** @return list<string> set01 to set10 */
function sets(): array
{
    return array_map(fn (int $number) => sprintf('set%02d', $number), range(1, 10));
}

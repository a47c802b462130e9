<?php
/**
 * What people run: limiters in plain PHP on ext-memcache, each with the records that ours shares.
 */

/** One client of one server; ext-memcache makes a dynamic property, which PHP 8.2 deprecates. */
function memcache(int $port): Memcache
{
    $memcache = new Memcache;
    // Not persistent, or forked processes would share one connection.
    @$memcache->addServer('127.0.0.1', $port, false);
    return $memcache;
}

/** A counter a minute. Returns whether the request is allowed, instead of throwing. */
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

/** An array of tokens under a lock; its test of the lock is inverted in the published code. */
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

<?php
/**
 * What a bucket behind a lock asks of memcached for a decision: four round trips, while nobody else holds the lock.
 *
 * The lock is tested as its words have it. As its code has it, a call that meets nobody sleeps for 25 ms.
 */
final class LockingRateLimiter
{
    private const MILLISECONDS = 1000;
    private const PARTS_OF_A_TOKEN = 1000;
    private const ATTEMPTS = 10;
    private const NAP = 25_000;
    private const LOCK_SECONDS = 15;

    public function __construct(private readonly Memcache $cache)
    {
    }

    /** Whether the client is over its limit. */
    public function check(string $key, int $limit, int $window): bool
    {
        $now = floor(self::MILLISECONDS * microtime(true));
        if (!$this->lock("{$key}_lock")) {
            return false;
        }
        $full = self::PARTS_OF_A_TOKEN * $limit;
        $bucket = $this->cache->get($key);
        if (!is_array($bucket) || $bucket['filled'] < $now - self::MILLISECONDS * $window) {
            $bucket = ['tokens' => $full, 'filled' => $now];
        }
        $refill = floor($full * ($now - $bucket['filled']) / (self::MILLISECONDS * $window));
        $bucket = ['tokens' => $bucket['tokens'] + $refill - self::PARTS_OF_A_TOKEN, 'filled' => $now];
        $this->cache->set($key, $bucket);
        $this->cache->delete("{$key}_lock");
        return $bucket['tokens'] < 0;
    }

    private function lock(string $key): bool
    {
        for ($attempt = 0; $attempt < self::ATTEMPTS; $attempt++) {
            if ($this->cache->add($key, 1, 0, self::LOCK_SECONDS)) {
                return true;
            }
            usleep(self::NAP);
        }
        return false;
    }
}

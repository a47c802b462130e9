<?php
/** What a JSON bucket under WATCH asks of Redis for a decision: five round trips, and one more client loses its EXEC. */
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

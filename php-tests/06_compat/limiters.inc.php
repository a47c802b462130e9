<?php
/** Creates the four limiters of TokenBucket\Compat. */
require_once __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateLimiter;

const KINDS = ['MinuteWindow', 'ClientThrottle', 'RateLimiter', 'LeakyBucket'];

/** Returns a limiter and a closure that sends it a request and returns true if it is allowed. */
function limiter(string $kind, mixed $storage, float $seconds, int $limit, string $id): array
{
    switch ($kind) {
        case 'MinuteWindow':
            $limiter = new MinuteWindow($storage, $id);
            return [$limiter, fn () => allows($limiter, $limit, $seconds / 60)];
        case 'ClientThrottle':
            $limiter = new ClientThrottle($storage);
            return [$limiter, fn () => !$limiter->check($id, $limit, $seconds)];
        case 'RateLimiter':
            $limiter = new RateLimiter($id, $limit, $seconds);
            $limiter->redis = $storage;
            return [$limiter, fn () => $limiter->handler()];
        case 'LeakyBucket':
            $limiter = new LeakyBucket($storage, (int) ($seconds / $limit), $limit);
            return [$limiter, fn () => $limiter->request($id, 'a')];
    }
}

<?php
/** Limiters that allow LIMIT calls and refill no token during a test, for races on each storage. */
require_once __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateLimiter;

const LIMIT = 1000;

/** Reports whether MinuteWindow counts calls by minute on this storage. */
function counts_by_minute(mixed $storage): bool
{
    return $storage instanceof TokenBucketStorageRedis || $storage instanceof TokenBucketStorageMemcached;
}

/** @return array<string, callable(mixed $storage, string $id): callable(): bool> */
function limiters(): array
{
    return [
        'window' => function (TokenBucketStorage $storage, string $id): callable {
            $window = new MinuteWindow($storage, $id);
            // Elsewhere tokens are refilled continuously, so the window is weeks long.
            $minutes = counts_by_minute($storage) ? 10 : 40_000;
            return fn () => allows($window, LIMIT, $minutes);
        },
        'throttle' => function (TokenBucketStorage $storage, string $id): callable {
            $throttle = new ClientThrottle($storage);
            return fn () => !$throttle->check($id, LIMIT, 100_000_000);
        },
        'rate limiter' => function (?TokenBucketStorage $storage, string $id): callable {
            $limiter = new RateLimiter($id, LIMIT, 864_000);
            $limiter->redis = $storage;
            return $limiter->handler(...);
        },
        'leaky bucket' => function (TokenBucketStorage|array $storage, string $id): callable {
            $bucket = new LeakyBucket($storage, 1_000_000, LIMIT);
            return fn () => $bucket->request($id, 'race');
        },
    ];
}

/** Checks that eight processes are granted LIMIT calls. Each process creates its own storage. */
function race(string $name, callable $storage, string $place, int $tries): void
{
    $test = function () use ($name, $storage, $place, $tries) {
        $limiter = limiters()[$name];
        $id = uniqid();
        $granted = granted_in_race(fn () => $limiter($storage(), $id), $tries);
        check(array_sum($granted) === LIMIT && min($granted) > 0, "$name, $place: granted " . json_encode($granted));
    };
    $name === 'window' && counts_by_minute($storage()) ? in_one_minute($test) : $test();
}

<?php
/** Races on limiters that allow LIMIT calls and refill no token during a test. */
require_once __DIR__ . '/limiters.inc.php';

const LIMIT = 1000;
// MinuteWindow counts calls by minute on these storages. Elsewhere its tokens are refilled
// continuously.
const COUNTED_BY_MINUTE = [TokenBucketStorageRedis::class, TokenBucketStorageMemcached::class];
const LONG = ['MinuteWindow' => 2.4e6, 'ClientThrottle' => 1e8, 'RateLimiter' => 864_000, 'LeakyBucket' => 1e9];

/** Checks that eight processes are granted LIMIT calls. Each process creates its own storage. */
function race(string $kind, callable $storage, string $place, int $tries): void
{
    $is_counted = $kind === 'MinuteWindow' && in_array(get_class($storage()), COUNTED_BY_MINUTE, true);
    $test = function () use ($kind, $storage, $place, $tries, $is_counted) {
        $id = uniqid();
        $granted = granted_in_race(fn () => limiter($kind, $storage(), $is_counted ? 600 : LONG[$kind], LIMIT, $id)[1], $tries);
        check(array_sum($granted) === LIMIT && min($granted) > 0, "$kind, $place: granted " . json_encode($granted));
    };
    $is_counted ? in_one_minute($test) : $test();
}

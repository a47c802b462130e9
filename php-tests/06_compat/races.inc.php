<?php
/** Races on limiters that allow LIMIT calls and refill no token during a test. */
require_once __DIR__ . '/limiters.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/races.php';

const LIMIT = 800;
// MinuteWindow counts calls by minute on these storages. Elsewhere its tokens are refilled
// continuously.
const COUNTED_BY_MINUTE = [TokenBucketStorageRedis::class, TokenBucketStorageMemcached::class];
const LONG = ['MinuteWindow' => 2.4e6, 'ClientThrottle' => 1e8, 'RateLimiter' => 800_000, 'LeakyBucket' => 8e8];

/** Checks that eight processes are granted LIMIT calls. Each process creates its own storage. */
function race(string $kind, callable $storage, string $place, int $tries): void
{
    $is_counted = $kind === 'MinuteWindow' && in_array(get_class($storage()), COUNTED_BY_MINUTE, true);
    $test = function () use ($kind, $storage, $place, $tries, $is_counted) {
        $id = uniqid();
        check_race("$kind, $place", fn () => limiter($kind, $storage(), $is_counted ? 600 : LONG[$kind], LIMIT, $id)[1], LIMIT, $tries);
    };
    $is_counted ? in_one_minute($test) : $test();
}

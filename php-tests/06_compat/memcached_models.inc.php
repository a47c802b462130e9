<?php
/** Models of the limiters in plain PHP. */

/**
 * Allows $calls in $seconds and charges denied calls, as a step does. Times are whole nanoseconds.
 */
final class ChargedModel
{
    public int $now = 0;
    /** @var array<string, array{int, int}> the time that each bucket holds, and when it held it */
    private array $buckets = [];

    public function allows(string $bucket, int $calls, int $seconds): bool
    {
        if ($calls === 0) {
            return false;
        }
        $cost = intdiv($seconds * 1_000_000_000 + $calls - 1, $calls);
        $full = $calls * $cost;
        [$worth, $since] = $this->buckets[$bucket] ?? [$full, $this->now];
        $worth = min($full, $worth + $this->now - $since);
        $allowed = $worth >= $cost;
        // A client that was denied and stops is allowed a call after one window, not later.
        $deepest = $allowed ? $worth - $cost : min($worth, -max($full - $cost, 1));
        $this->buckets[$bucket] = [max($worth - $cost, $deepest), $this->now];
        return $allowed;
    }
}

/**
 * Returns whether the call is limited, and the new record of the client. $now is in milliseconds.
 */
function throttle_model(?array $bucket, float $now, int $limit, int $window): array
{
    if ($bucket === null || $bucket['filled'] < $now - 1000 * $window) {
        $bucket = ['tokens' => 1000 * $limit, 'filled' => $now];
    }
    if ($bucket['filled'] < $now) {
        $bucket['tokens'] += ($now - $bucket['filled']) * $limit / $window;
        $bucket['filled'] = $now;
    }
    $tokens = min($bucket['tokens'], 1000 * $limit);
    $bucket['tokens'] = max($tokens - 1000, -1000 * ($limit - 1));
    return [$tokens < 1000, $bucket];
}

/**
 * Repeats $test if a new minute began meanwhile, because the tests cannot set the minute of a
 * counter.
 */
function in_one_minute(callable $test): void
{
    do {
        after_its_first_seconds();
        $minute = intdiv(time(), 60);
        ob_start();
        $test();
        $said = ob_get_clean();
    } while (intdiv(time(), 60) !== $minute);
    echo $said;
}

/**
 * Waits during the first three seconds of a minute. There, prolonging counters on memcached takes
 * one more round trip.
 */
function after_its_first_seconds(): void
{
    while (time() % 60 < 3) {
        usleep(100_000);
    }
}

/** Reports whether the limiter allows the request. */
function allows(TokenBucket\Compat\MinuteWindow $window, mixed $requests, mixed $minutes): bool
{
    try {
        $window->limitRequestsInMinutes($requests, $minutes);
    } catch (TokenBucket\Compat\RateExceededException) {
        return false;
    }
    return true;
}

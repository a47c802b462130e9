<?php
/** What the limiters are meant to decide, in plain PHP. */

/** So many calls a window, denied ones charged: what a step decides. Time is whole nanoseconds. */
final class ChargedModel
{
    public int $now = 0;
    /** @var array<string, array{int, int}> the time that each bucket is worth, and when it was that much */
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
        // Whoever was denied and stops is allowed a call after a window, not later.
        $deepest = $allowed ? $worth - $cost : min($worth, -max($full - $cost, 1));
        $this->buckets[$bucket] = [max($worth - $cost, $deepest), $this->now];
        return $allowed;
    }
}

/** The array of a client: whether the call is limited, and the array afterwards. $now in milliseconds. */
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

/** Runs $test again if a minute began meanwhile, whatever it said: counters of minutes cannot be told which one it is. */
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

/** Waits while the minute has just begun, when counters on memcached are made to live longer, which takes a round trip. */
function after_its_first_seconds(): void
{
    while (time() % 60 < 3) {
        usleep(100_000);
    }
}

/** Whether the window's limiter lets the request pass. */
function allows(TokenBucket\Compat\MinuteWindow $window, mixed $requests, mixed $minutes): bool
{
    try {
        $window->limitRequestsInMinutes($requests, $minutes);
    } catch (TokenBucket\Compat\RateExceededException) {
        return false;
    }
    return true;
}

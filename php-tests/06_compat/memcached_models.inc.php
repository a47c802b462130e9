<?php
/** Models of the limiters in plain PHP. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

/**
 * Models buckets that allow $calls in $seconds and charge denied calls, too. Times are whole
 * nanoseconds.
 */
final class ChargedModel
{
    public int $now = 0;
    /**
     * @var array<string, array{int, int}> by bucket: the nanoseconds in which its tokens are
     * refilled, and the time of its last call
     */
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
        // Bounds the debt, so that a client that stops after a denial is allowed a call one window
        // later.
        $deepest = $allowed ? $worth - $cost : min($worth, -max($full - $cost, 1));
        $this->buckets[$bucket] = [max($worth - $cost, $deepest), $this->now];
        return $allowed;
    }
}

/** Returns whether the call is denied, and the client's new record. $now is in milliseconds. */
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
 * Runs $test, and repeats the run if a new minute has begun meanwhile. Tests cannot choose the
 * minute of a counter.
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
 * Waits until the first three seconds of a minute are over. During these seconds, prolonging
 * counters on memcached takes one more round trip.
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

<?php
/** Calls of MinuteWindow within one minute. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

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
 * counters on memcached takes one more round trip. Does not return in the last ten seconds, because
 * a warning of a test that has no time left would not be repeated.
 */
function after_its_first_seconds(): void
{
    while (($second = time() % 60) < 3 || $second >= 50) {
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

<?php
/**
 * Runs $test, and repeats the run if a server missed the timeout meanwhile. A limiter that takes a
 * live client has the default timeout, which a busy machine may miss.
 */
function in_time(callable $test): void
{
    $late = fn () => TokenBucket\status()['remote']['failed'] + TokenBucket\status()['remote']['local'];
    for ($try = 0; $try < 50; $try++) {
        $before = $late();
        ob_start();
        $test();
        $said = ob_get_clean();
        if ($late() === $before) {
            break;
        }
        // Lets the breaker close.
        usleep(200_000);
    }
    echo $said;
}

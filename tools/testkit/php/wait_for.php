<?php
/**
 * Waits until $condition returns true. Throws a RuntimeException after a minute, which is longer
 * than a busy machine delays another process.
 */
function wait_for(string $what, callable $condition, float $seconds = 60): void
{
    $deadline = microtime(true) + $seconds;
    while (!$condition()) {
        usleep(2_000);
        if (microtime(true) > $deadline) {
            throw new RuntimeException("in vain: $what");
        }
    }
}

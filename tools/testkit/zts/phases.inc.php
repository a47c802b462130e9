<?php
// The frame of each scenario that host.c runs.
require_once __DIR__ . '/../php/check.php';

/**
 * Runs the phase of this request. $plan configures the host. $work(thread, request) runs in each
 * request of the threads, and its result is passed to $after in a list. $after runs at the end.
 */
function run(array $plan, callable $work, callable $after, ?callable $before = null): void
{
    switch ($_SERVER['PHASE']) {
        case 'before':
            $before && $before();
            echo http_build_query($plan, '', "\n");
            break;
        case 'work':
            record($work((int) $_SERVER['THREAD'], (int) $_SERVER['REQUEST']));
            break;
        case 'after':
            $results = array_map(fn (string $line) => json_decode($line, true), file($_SERVER['RESULTS']));
            $after(array_values(array_filter($results, fn ($result) => $result !== null)));
            echo "done\n";
    }
}

/** Adds a result. Nothing else may be printed in the phase "work". */
function record(mixed $result): void
{
    echo json_encode($result) . "\n";
}

/** Returns a bucket that does not refill while the test runs. */
function without_refill(TokenBucketStorage $storage, string $identifier, int $capacity): TokenBucket
{
    return new TokenBucket($storage, $identifier, $capacity, $capacity / 1e9);
}

/** Returns the number of tokens that $tries calls get. */
function take(TokenBucket $bucket, int $tries): int
{
    for ($granted = $try = 0; $try < $tries; $try++) {
        $granted += (int) $bucket->consume();
    }
    return $granted;
}

/** Prints $what and both values if they differ. */
function same(mixed $expected, mixed $found, string $what): void
{
    check($expected === $found, "$what: " . json_encode($found) . ' instead of ' . json_encode($expected));
}

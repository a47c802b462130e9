<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/processes.php';
require __DIR__ . '/../../tools/testkit/php/servers.php';

const PROCESSES = 8;
const TRIES = 5000;
const CAPACITY = 1000;
// The tries between two barriers. The barriers keep one process from taking all tokens before the
// other processes start.
const CHUNK = 50;

/** Calls $try() in all processes at once. Returns the number of grants of each process. */
function granted_in_race(callable $try, int $tries = TRIES): array
{
    return in_processes(PROCESSES, function (int $index, callable $barrier) use ($try, $tries): int {
        $granted = 0;
        for ($done = 0; $done < $tries; $done += CHUNK) {
            // Skips the barriers once the bucket is empty, because the order no longer matters.
            if ($done <= 20 * CHUNK) {
                $barrier();
            }
            for ($i = 0; $i < CHUNK; $i++) {
                $granted += (int) $try();
            }
        }
        return $granted;
    });
}

/**
 * Runs two rounds with the denial cache and two rounds without it. Starts no second round of a kind
 * after four seconds. $trips() returns the number of requests that the server has received.
 */
function race(callable $storage, callable $trips): void
{
    $start = microtime(true);
    for ($round = 0; $round < 2; $round++) {
        foreach ([true, false] as $hints) {
            if ($round > 0 && microtime(true) - $start > 4) {
                continue;
            }
            $before = TokenBucket\status()['remote'];
            $trips_before = $trips();
            $bucket = new TokenBucket($storage($hints), "round $round", CAPACITY, 1e-6);
            $granted = granted_in_race($bucket->consume(...));
            $after = TokenBucket\status()['remote'];
            check(array_sum($granted) === CAPACITY, array_sum($granted) . ' granted of ' . CAPACITY);
            check(min($granted) > 0, 'some got nothing: ' . json_encode($granted));
            $change = fn (string $name) => $after[$name] - $before[$name];
            check($change('failed') === 0, $change('failed') . ' failures');
            check($change('asked') + $change('hinted') === PROCESSES * TRIES, 'each call was asked or told');
            if ($round === 0) {
                $asked = $change('asked') / (PROCESSES * TRIES);
                check($hints ? $asked < 0.1 : $asked === 1, "asked for $asked of all calls");
                $made = $trips() - $trips_before;
                check($made >= $change('asked'), 'all that asked were answered');
                check($made < CAPACITY * PROCESSES + ($hints ? 0 : PROCESSES * TRIES), "$made round trips");
                printf("hints %s: %.3f round trips a try, %.3f a grant\n", json_encode($hints), $made / (PROCESSES * TRIES), $made / CAPACITY);
            }
        }
    }
}

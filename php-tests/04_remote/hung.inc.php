<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

const WORKERS = 8;
const CALLS = 2000;
const CAPACITY = 500;

/**
 * Lets the workers of one host call a suspended server, and prints each check that fails.
 *
 * Only a call that contacts the server waits, and it fails by its timeout. So the test counts these
 * calls. Three failures open the breaker. Each worker may have begun two calls by then. After that,
 * one worker at a time probes the server, and each probe takes a timeout.
 */
function hang(Store $store): void
{
    $storage = $store->storage(OnFailure::Local, 'hung:', true, TIMEOUT);
    $results = in_processes(WORKERS, function (int $index, callable $barrier) use ($store, $storage): array {
        set_error_handler(fn () => true);
        // Almost no token is refilled.
        $bucket = new TokenBucket($storage, 'x', CAPACITY, 1e-6);
        wait_for('a worker is connected', fn () => !$bucket->peek()->fallback);
        $barrier();
        if ($index === 0) {
            $store->server->signal('STOP');
        }
        $before = [TokenBucket\status()['remote'], $store->state()];
        $barrier();
        $start = hrtime(true);
        for ($granted = $call = 0; $call < CALLS; $call++) {
            $granted += (int) $bucket->consume();
            usleep(500);
        }
        $barrier();
        $seconds = (hrtime(true) - $start) / 1e9;
        $after = [TokenBucket\status()['remote'], $store->state()];
        $barrier();
        if ($index === 0) {
            $store->server->signal('CONT');
        }
        return [$granted, $seconds, $before, $after];
    });
    $granted = array_sum(array_column($results, 0));
    [, $seconds, $before, $after] = $results[0];
    $change = fn (string $name) => $after[0][$name] - $before[0][$name];
    $paid = ($after[1]['causes']['timeout'] ?? 0) - ($before[1]['causes']['timeout'] ?? 0);
    $most = 2 * WORKERS + 1 + $seconds / TIMEOUT;
    check($paid >= 3 && $paid <= $most, "$paid calls paid the timeout, $most at the most");
    check($change('asked') === $paid && $change('failed') === $paid, "{$change('asked')} calls contacted the server, {$change('failed')} failed, $paid paid");
    check($change('local') === WORKERS * CALLS, 'all were answered by this host');
    check($granted === CAPACITY, "$granted granted");
    check($change('opened') === 1, "opened {$change('opened')} times");
    check($store->is_back(TIMEOUT), 'used again');
    check($store->state()['breaker'] === 'closed', 'closed');
    check($store->bucket(OnFailure::Throw, 'after')->consume(), 'granted after');
    if (getenv('TOKENBUCKET_SHOW')) {
        printf("%d calls, %d paid of at most %d, in %.2f s\n", WORKERS * CALLS, $paid, $most, $seconds);
    }
}

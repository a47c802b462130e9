<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

const WORKERS = 8;
const SECONDS = 3.0;
const CAPACITY = 500;
const RATE = 100;

/**
 * Calls a bucket for some seconds, with short pauses.
 *
 * @return array{list<int>, int, float} the nanoseconds of each call, the granted calls, and the
 *   seconds of all
 */
function calls(TokenBucket $bucket, float $seconds): array
{
    [$times, $granted] = [[], 0];
    $start = hrtime(true);
    while (($now = hrtime(true)) - $start < $seconds * 1e9) {
        $granted += (int) $bucket->consume();
        $times[] = hrtime(true) - $now;
        usleep(500);
    }
    return [$times, $granted, (hrtime(true) - $start) / 1e9];
}

/** Lets the workers of one host call a suspended server, and prints each check that fails. */
function hang(Store $store): void
{
    $storage = $store->storage(OnFailure::Local, 'hung:', true);
    $before = TokenBucket\status()['remote'];
    $results = in_processes(WORKERS, function (int $index, callable $barrier) use ($store, $storage): array {
        set_error_handler(fn () => true);
        $bucket = new TokenBucket($storage, 'x', CAPACITY, RATE);
        $bucket->peek();
        $barrier();
        // How many calls this machine makes, at the most.
        [$local] = calls(new TokenBucket(new TokenBucketStorageSharedMemory(), 'x', CAPACITY, RATE), SECONDS / 6);
        $barrier();
        if ($index === 0) {
            $store->server->signal('STOP');
        }
        $barrier();
        [$times, $granted, $elapsed] = calls($bucket, SECONDS);
        $barrier();
        if ($index === 0) {
            $store->server->signal('CONT');
        }
        return [$times, $granted, $elapsed, 6 * count($local)];
    });
    $after = TokenBucket\status()['remote'];
    $times = array_merge(...array_column($results, 0));
    sort($times);
    $calls = count($times);
    $paid = count(array_filter($times, fn ($time) => $time >= 40e6));
    $p99 = $times[(int) ($calls * 0.99)];
    $granted = array_sum(array_column($results, 1));
    $elapsed = max(array_column($results, 2));
    $most = array_sum(array_column($results, 3));
    check($calls >= 0.6 * $most, "$calls calls, at most $most");
    check($paid >= 3 && $paid <= 30, "$paid calls paid the timeout");
    check($p99 < 1e6, $p99 / 1e3 . ' µs take 99 % of the calls');
    check($granted <= CAPACITY + RATE * $elapsed + 1, "$granted granted in $elapsed s");
    check($granted >= CAPACITY + RATE * (SECONDS - 0.5), "only $granted granted in $elapsed s");
    check($after['opened'] - $before['opened'] === 1, 'opened ' . ($after['opened'] - $before['opened']) . ' times');
    // A busy processor may have delayed calls, so not every slow call is a failure.
    $failed = $after['failed'] - $before['failed'];
    check($failed >= 3 && $failed <= $paid, "$failed failures, $paid paid");
    check($after['local'] - $before['local'] === $calls, 'all were answered by this host');
    $start = microtime(true);
    check($store->is_back() && microtime(true) - $start < 5, 'used again');
    check($store->state()['breaker'] === 'closed', 'closed');
    check($store->bucket(OnFailure::Throw, 'after')->consume(), 'granted after');
    if (getenv('TOKENBUCKET_SHOW')) {
        printf("%d calls of at most %d, %d paid, p99 %.0f us, %d granted in %.2f s\n", $calls, $most, $paid, $p99 / 1e3, $granted, $elapsed);
    }
}

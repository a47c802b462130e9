<?php
/** Runs workers while the DNS server hangs. DnsServer::run_file() must run this file. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/dns.php';

use TokenBucket\OnFailure;

/** The number of workers, and the number of calls of each worker. */
const WORKERS = 8, CALLS = 20;

function bucket(int $port, OnFailure $policy, float $timeout): TokenBucket
{
    return new TokenBucket(new TokenBucketStorageRedis("redis://store.test:$port", 'p', $timeout, $policy), 'x', 1e6, 1);
}

/**
 * Lets all workers call the store at once. Prints how many calls the store decides, and whether
 * only one worker at a time looked up the name of the server.
 */
function call_at_once(DnsServer $dns, int $port, float $timeout): void
{
    $before = $dns->lookups();
    $start = hrtime(true);
    $fallbacks = array_sum(in_processes(WORKERS, function () use ($port, $timeout): int {
        $bucket = bucket($port, OnFailure::Local, $timeout);
        for ($fallbacks = $call = 0; $call < CALLS; $call++) {
            $fallbacks += (int) $bucket->attempt()->fallback;
            usleep(2_000);
        }
        return $fallbacks;
    }));
    $seconds = (hrtime(true) - $start) / 1e9;
    // A lookup takes a second if it gets no reply. For the next second, no worker makes a lookup.
    $most = 1 + $seconds / 2;
    $lookups = $dns->lookups() - $before;
    echo WORKERS * CALLS - $fallbacks, ' calls decided by the store, ';
    echo $lookups >= 1 && $lookups <= $most ? 'one worker at a time' : "$lookups lookups instead of at most $most", "\n";
}

$redis = RedisServer::start();
$dns = new DnsServer($argv[1]);
echo 'unknown: ';
call_at_once($dns, $redis->port, 0.05);

$dns->answer('127.0.0.1');
// The failed lookup is cached for a second, so the first calls may still fail.
$says = fn () => thrown(fn () => bucket($redis->port, OnFailure::Throw, PATIENCE)->consume());
wait_for('the store decides', fn () => $says() === 'nothing thrown');
echo "answered: decided by the store\n";

// A refused connection makes a worker look the name up again. The Redis server runs again before
// the measured calls, so only the lookup can hang.
$dns->answer();
usleep(1_100_000);
$redis->kill();
$says();
$redis->restart();
echo 'hanging: ';
call_at_once($dns, $redis->port, PATIENCE);

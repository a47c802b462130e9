<?php
/** Runs workers while the DNS server hangs. DnsServer::run_file() must run this file. */
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/processes.php';
require __DIR__ . '/../../testkit/php/servers.php';
require __DIR__ . '/../../testkit/php/dns.php';

use TokenBucket\OnFailure;

/** A lookup that gets no reply takes a second. A call that makes no lookup takes 50 ms at most. */
const LONG = 0.7;

function bucket(int $port, OnFailure $policy): TokenBucket
{
    return new TokenBucket(new TokenBucketStorageRedis("redis://store.test:$port", 'p', 0.05, $policy), 'x', 1e6, 1);
}

/** Returns the number of workers of 8 that made a long call within a second. */
function occupied(int $port): int
{
    $slow = in_processes(8, function () use ($port): int {
        $bucket = bucket($port, OnFailure::Local);
        $slow = 0;
        for ($start = microtime(true); microtime(true) - $start < 1; usleep(2_000)) {
            $before = microtime(true);
            $bucket->consume();
            $slow += (int) (microtime(true) - $before > LONG);
        }
        return $slow;
    });
    return count(array_filter($slow));
}

/** Returns the seconds until the store decides a call of a new worker. */
function recovery(int $port): float
{
    return in_processes(1, function () use ($port): float {
        $bucket = bucket($port, OnFailure::Throw);
        for ($start = microtime(true); microtime(true) - $start < 10; usleep(5_000)) {
            try {
                $bucket->consume();
                break;
            } catch (TokenBucket\StorageException) {
            }
        }
        return microtime(true) - $start;
    })[0];
}

$redis = RedisServer::start();
$dns = new DnsServer();
echo 'unknown: ', occupied($redis->port), " of 8 workers\n";

$dns->answer('127.0.0.1');
// The failed lookup is cached for a second, and the breaker's pause is up to 4 s.
echo 'answered: ', recovery($redis->port) < 8 ? 'decided by the store' : 'late', "\n";

// A refused connection makes a worker look the name up again. The server is back before.
$dns->answer();
usleep(1_100_000);
$redis->kill();
thrown(fn () => bucket($redis->port, OnFailure::Throw)->consume());
$redis->restart();
$workers = occupied($redis->port);
$time = recovery($redis->port);
echo 'hanging: ', $time < LONG ? 'decided by the store' : "late: $time", "\n";
echo $workers <= 1 ? 'at most 1' : $workers, " of 8 workers\n";

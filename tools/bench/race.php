<?php
/**
 * Counts how many of 1,000 tokens limiters grant to eight processes. No token is refilled.
 *
 * The processes take one token at a time. They start together and wait for each other after every
 * 100 tries. A denial is false if it ended before the 1,000th grant began, because at least one
 * token was still left then. If there are fewer grants, the last grant takes the place of the
 * 1,000th.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/limiters.inc.php';
require_once __DIR__ . '/../testkit/php/processes.php';

const PROCESSES = 8;
/**
 * The number of races. Each race uses a new bucket. Several races run, because their results
 * differ.
 */
const RACES = 3;
const TOKENS = 1_000;
/** The chunks of each process. All processes wait for each other before each chunk. */
const CHUNKS = 20;
const TRIES_A_CHUNK = 100;

/**
 * Returns the results of one process: the times at which its grants began and its denials ended, in
 * nanoseconds, and the number of its failures.
 */
function race_in(Limiter $limiter, string $identifier, callable $barrier): array
{
    $got = ['grants' => [], 'denials' => [], 'failed' => 0];
    $ask = $limiter->asking($limiter->make($identifier, TOKENS, NEVER));
    for ($chunk = 0; $chunk < CHUNKS; $chunk++) {
        $barrier();
        for ($i = 0; $i < TRIES_A_CHUNK; $i++) {
            $asked = hrtime(true);
            try {
                if ($ask()) {
                    $got['grants'][] = $asked;
                } else {
                    $got['denials'][] = hrtime(true);
                }
            } catch (Exception) {
                $got['failed']++;
            }
        }
    }
    return $got;
}

/** @return array<string, int> the tries by result */
function race(Limiter $limiter): array
{
    $identifier = fresh('race');
    $got = in_processes(PROCESSES, fn (int $index, callable $barrier) => race_in($limiter, $identifier, $barrier));
    must(!in_array(null, $got, true), "a process of $limiter->name died");
    $grants = array_merge(...array_column($got, 'grants'));
    must($grants !== [], "$limiter->name grants nothing");
    $denials = array_merge(...array_column($got, 'denials'));
    sort($grants);
    $last = $grants[min(TOKENS, count($grants)) - 1];
    $figures = [
        'granted' => count($grants),
        'failed' => array_sum(array_column($got, 'failed')),
        'early' => count(array_filter($denials, fn (int $over) => $over < $last)),
    ];
    must(count($grants) + count($denials) + $figures['failed'] === PROCESSES * CHUNKS * TRIES_A_CHUNK, "calls of $limiter->name are missing");
    // Because of lost updates, a few tokens may be left after the race.
    [$more] = in_processes(1, fn () => grants($limiter, $identifier, intdiv(TOKENS, 10)));
    must($more < intdiv(TOKENS, 10) || $figures['granted'] < TOKENS, "the processes of $limiter->name did not share a bucket");
    return $figures;
}

/** Returns the number of granted tries. */
function grants(Limiter $limiter, string $identifier, int $tries): int
{
    $ask = $limiter->asking($limiter->make($identifier, TOKENS, NEVER));
    $granted = 0;
    for ($i = 0; $i < $tries; $i++) {
        $granted += $ask() ? 1 : 0;
    }
    return $granted;
}

function races(Limiter $limiter): void
{
    // Runs in a separate process, so that the racing processes do not inherit its connections.
    must(in_processes(1, fn () => is_object($limiter->exhausted())) === [true], "$limiter->name does not limit");
    $races = [];
    for ($i = 0; $i < RACES; $i++) {
        $races[] = race($limiter);
    }
    $column = fn (string $what) => array_column($races, $what);
    $to = fn (array $values) => min($values) === max($values) ? (string) max($values) : min($values) . ' to ' . max($values);
    printf("%-44s %14s %14s %14s\n", $limiter->name, ...array_map(fn (string $what) => $to($column($what)), ['granted', 'early', 'failed']));
    $figures = array_combine(array_keys($races[0]), array_map($column, array_keys($races[0])));
    Record::row($limiter->name, $figures + ['of' => TOKENS, 'processes' => PROCESSES, 'tries' => PROCESSES * CHUNKS * TRIES_A_CHUNK]);
}

$title = sprintf('%d processes, %d tokens, %d races', PROCESSES, TOKENS, RACES);
Record::title($title);
printf("%-44s %14s %14s %14s\n", $title, 'granted', 'falsely denied', 'failed');
array_map(races(...), limiters_of_a_host());
$redis = RedisServer::start();
array_map(races(...), limiters_on_redis($redis));
$redis->kill();
$memcached = MemcachedServer::startTcp();
array_map(races(...), limiters_on_memcached($memcached->port));
$memcached->kill();
$mariadb = mariadb_with_table();
array_map(races(...), limiters_in_a_table(fn () => $mariadb->connect([PDO::ATTR_EMULATE_PREPARES => false])));

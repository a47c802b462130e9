<?php
/**
 * Measures the decisions a second that 1, 2, 4 and 8 processes make together, on one key and on a
 * key for each process. Compares shared memory with apcu_inc(). Also measures Redis and memcached.
 * If there are more processes than processors, the processes take turns.
 *
 * In a round all processes start together. Each process makes the same number of calls. The time
 * runs from the first start to the last end. No bucket is ever empty, so every denial is due to
 * contention. Denials are counted.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../testkit/php/servers.php';
require __DIR__ . '/../testkit/php/processes.php';

const NUMBERS = [1, 2, 4, 8];
const ROUNDS = 9;
/**
 * The calls of all processes together. These calls take far longer than a scheduler's time slice.
 */
const CALLS_IN_MEMORY = 4_000_000;
const CALLS_OF_A_SERVER = 16_000;

/** A kind of call that several processes make at once. */
final class Load
{
    /**
     * @param int $calls the calls of all processes together in a round
     * @param Closure(string): Closure(int): int $make takes a key and returns a function that makes
     *        a number of calls and returns the number of denials
     */
    public function __construct(public readonly string $name, public readonly int $calls, private readonly Closure $make)
    {
    }

    /**
     * @return array{list<float>, float} the calls a second of all processes, by round, and the
     *         fraction of the calls that were denied
     */
    public function run(int $processes, bool $one_key): array
    {
        $calls = intdiv($this->calls, $processes);
        $rounds = in_processes($processes, fn (int $index, callable $barrier) => $this->run_in($one_key ? $this->name : "$this->name $index", $calls, $barrier));
        must(!in_array(null, $rounds, true), "a process of $this->name died");
        $rates = [];
        for ($i = 0; $i < ROUNDS; $i++) {
            $of_round = array_column($rounds, $i);
            $rates[] = $processes * $calls / (max(array_column($of_round, 'end')) - min(array_column($of_round, 'start'))) * 1e9;
        }
        return [$rates, array_sum(array_column(array_merge(...$rounds), 'denied')) / ($processes * $calls * ROUNDS)];
    }

    /** @return list<array{start: int, end: int, denied: int}> the rounds of one process */
    private function run_in(string $key, int $calls, callable $barrier): array
    {
        $run = ($this->make)($key);
        must($run(1) === 0, "$this->name denies at once");
        $rounds = [];
        for ($i = 0; $i < ROUNDS; $i++) {
            $barrier();
            $start = hrtime(true);
            $denied = $run($calls);
            $rounds[] = ['start' => $start, 'end' => hrtime(true), 'denied' => $denied];
        }
        return $rounds;
    }
}

/** Returns a load of calls on a bucket that is never empty. */
function load(string $name, int $calls, Closure $storage): Load
{
    return new Load($name, $calls, function (string $key) use ($storage) {
        // The bucket is created after the fork, so that each process has its own connection.
        $bucket = new TokenBucket($storage(), $key, 1e9, 1);
        return function (int $calls) use ($bucket) {
            $granted = 0;
            for ($i = 0; $i < $calls; $i++) {
                $granted += $bucket->consume(1) ? 1 : 0;
            }
            return $calls - $granted;
        };
    });
}

/** @param list<Load> $loads */
function report_loads(array $loads, bool $one_key): void
{
    $title = $one_key ? 'Processes on one key' : 'Processes on a key each';
    Record::title($title);
    printf("\n%-44s" . str_repeat(' %12d', count(NUMBERS)) . "\n", "$title, thousand calls/s", ...NUMBERS);
    foreach ($loads as $load) {
        printf('%-44s', $load->name);
        $rates = $denied = [];
        foreach (NUMBERS as $processes) {
            [$of_rounds, $denied[$processes]] = $load->run($processes, $one_key);
            $rates[$processes] = quantiles($of_rounds, [0.5, 0, 1]);
            printf(' %12.1f', $rates[$processes][0] / 1000);
        }
        echo max($denied) > 0 ? sprintf("  up to %.2g %% denied because of contention\n", 100 * max($denied)) : "\n";
        Record::row($load->name, ['per_second' => $rates, 'denied' => $denied]);
    }
}

$redis = RedisServer::start();
$memcached = MemcachedServer::startUnix();
$throw = TokenBucket\OnFailure::Throw;
$loads = [
    new Load('apcu_inc()', CALLS_IN_MEMORY, fn (string $key) => function (int $calls) use ($key) {
        for ($i = 0; $i < $calls; $i++) {
            apcu_inc($key);
        }
        must(apcu_fetch($key) >= $calls, 'apcu_inc() did not count');
        return 0;
    }),
    load('consume(1) in shared memory', CALLS_IN_MEMORY, fn () => new TokenBucketStorageSharedMemory),
    load('consume(1) on Redis, Unix socket', CALLS_OF_A_SERVER, fn () => new TokenBucketStorageRedis("unix://$redis->socket", '', PATIENCE, $throw)),
    load('consume(1) on memcached, Unix socket', CALLS_OF_A_SERVER, fn () => new TokenBucketStorageMemcached("unix://$memcached->socket", '', PATIENCE, $throw)),
];
printf("%d rounds, medians; %d processors\n", ROUNDS, count(preg_grep('/^processor/', file('/proc/cpuinfo'))));
report_loads($loads, true);
report_loads($loads, false);

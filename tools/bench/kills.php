<?php
/**
 * Counts what limiters grant while their workers are killed. Writes kills.json.
 *
 *   php kills.php        runs every limiter for ten seconds, each in its own PHP process
 *   php kills.php NAME   runs one limiter, prints its figures and writes nothing
 *
 * Eight workers take one token at a time from one limiter, as fast as they can. Every 100 ms a
 * random worker gets SIGKILL, and another worker replaces it. Each worker counts its grants in a
 * block of shared memory that this program owns, so that the counts outlive the worker. If a worker
 * dies between a grant and its count, one grant is not counted. A count is never too high.
 *
 * If the lock of a limiter is never released, its calls never return. This program reports that as
 * a result. The workers of such a limiter get SIGKILL at the end, like all other workers.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/limiters.inc.php';

const WORKERS = 8;
const CAPACITY = 1_000;
const TOKENS_A_SECOND = 100;
const SECONDS = 10;
const KILL_EVERY_MS = 100;
const SAMPLE_EVERY_MS = 50;
/** The most workers that one run may start. */
const MOST_WORKERS = 1_000;
/** Names of limiters in tools/bench/limiters.inc.php. For each store, ours comes first. */
const NAMES = [
    'TokenBucket, shared memory',
    'userland bucket on APCu',
    'Symfony token bucket on APCu, no lock',
    'Symfony token bucket on APCu, semaphore',
    'Symfony token bucket on APCu, flock',
    'TokenBucket, Redis',
    'Symfony token bucket on Redis, lock on Redis',
];
/** The number of counts: grants, calls that ended, and calls that threw. Each has 64 bits. */
const COUNTS = 3;
const BYTES = 8 * COUNTS;

/** The counts of all workers, including dead workers. */
final class Tally
{
    private readonly Shmop $memory;

    public function __construct()
    {
        // The key zero is IPC_PRIVATE. The kernel frees the memory when its last process ends.
        $this->memory = shmop_open(0, 'c', 0600, MOST_WORKERS * BYTES);
        shmop_delete($this->memory);
    }

    public function write(int $worker, int $granted, int $answers, int $failed): void
    {
        shmop_write($this->memory, pack('P' . COUNTS, $granted, $answers, $failed), $worker * BYTES);
    }

    /** @return array{int, int, int} the sums over all workers */
    public function sums(): array
    {
        $sums = array_fill(0, COUNTS, 0);
        foreach (array_values(unpack('P*', shmop_read($this->memory, 0, MOST_WORKERS * BYTES))) as $i => $count) {
            $sums[$i % COUNTS] += $count;
        }
        return $sums;
    }
}

/** The workers of one limiter. Each worker can be killed and replaced. */
final class Workers
{
    /** @var list<int> process ids */
    private array $pids = [];
    private int $started = 0;

    public function __construct(private readonly Limiter $limiter, private readonly string $identifier, private readonly Tally $tally)
    {
        for ($i = 0; $i < WORKERS; $i++) {
            $this->pids[] = $this->start();
        }
    }

    public function replaceOne(): void
    {
        $index = mt_rand(0, WORKERS - 1);
        self::kill($this->pids[$index]);
        $this->pids[$index] = $this->start();
    }

    public function killAll(): void
    {
        array_map(self::kill(...), $this->pids);
        $this->pids = [];
    }

    private function start(): int
    {
        $worker = $this->started++;
        must($worker < MOST_WORKERS, 'too many workers');
        $pid = pcntl_fork();
        must($pid !== -1, 'fork failed');
        if ($pid === 0) {
            @pcntl_setpriority(0);
            $this->ask($worker);
        }
        return $pid;
    }

    private function ask(int $worker): never
    {
        $ask = $this->limiter->asking($this->limiter->make($this->identifier, CAPACITY, 1, TOKENS_A_SECOND));
        $granted = $answers = $failed = 0;
        for (;;) {
            try {
                $granted += $ask() ? 1 : 0;
            } catch (Throwable) {
                $failed++;
            }
            $this->tally->write($worker, $granted, ++$answers, $failed);
        }
    }

    private static function kill(int $pid): void
    {
        posix_kill($pid, SIGKILL);
        pcntl_waitpid($pid, $status);
    }
}

/** @return array<string, mixed> the grants and the calls that ended, sample by sample */
function kill_workers_of(Limiter $limiter): array
{
    // Raises the priority, so that the kills are on time although the workers use every processor.
    // Without root this fails and changes nothing.
    @pcntl_setpriority(-10);
    // The seed is fixed, so that each run kills the same workers.
    mt_srand(1);
    $tally = new Tally;
    $samples = [];
    $kills = 0;
    $start = hrtime(true);
    $workers = new Workers($limiter, fresh('kills'), $tally);
    for ($ms = 0; $ms <= SECONDS * 1_000; $ms += SAMPLE_EVERY_MS) {
        $wait = intdiv($start + $ms * 1_000_000 - hrtime(true), 1_000);
        usleep(max(0, $wait));
        $sums = $tally->sums();
        // Reads the clock after the counts, so that the limit at this instant holds for the counts.
        $samples[] = [(hrtime(true) - $start) / 1e9, ...$sums];
        if ($ms % KILL_EVERY_MS === 0 && $ms > 0) {
            $workers->replaceOne();
            $kills++;
        }
    }
    $workers->killAll();
    [$seconds, $granted, $answers, $failed] = array_map(null, ...$samples);
    return ['kills' => $kills, 'seconds' => array_map(fn (float $s) => round($s, 3), $seconds), 'granted' => $granted, 'answers' => $answers, 'failed' => end($failed)];
}

/** Prints and saves the figures of one limiter. */
function report_kills(Limiter $limiter): void
{
    $figures = kill_workers_of($limiter);
    $over = array_map(fn (float $seconds, int $granted) => $granted - (CAPACITY + TOKENS_A_SECOND * $seconds), $figures['seconds'], $figures['granted']);
    $answers = $figures['answers'];
    $last = $figures['seconds'][array_search(end($answers), $answers, true)];
    printf("%-46s %9d %9.1f %11d %7d %6.2f\n", $limiter->name, end($figures['granted']), max($over), end($answers), $figures['failed'], $last);
    Record::row($limiter->name, $figures + ['workers' => WORKERS, 'capacity' => CAPACITY, 'rate' => TOKENS_A_SECOND]);
}

/**
 * Measures each limiter in a PHP process of its own, because a killed worker may leave APCu locked.
 */
function measure_all(): void
{
    $this_php = explode("\0", rtrim(file_get_contents('/proc/self/cmdline'), "\0"));
    printf("%-46s %9s %9s %11s %7s %6s\n", 'limiter', 'granted', 'most over', 'answers', 'failed', 'last s');
    foreach (NAMES as $name) {
        $process = proc_open([...$this_php, $name], [], $pipes);
        must(proc_close($process) === 0, "$name was not measured");
    }
}

/** Measures one limiter. */
function measure_one(string $name): void
{
    Record::title(sprintf('%d workers, one killed every %d ms', WORKERS, KILL_EVERY_MS));
    $redis = RedisServer::start();
    $named = array_filter([...limiters_of_a_host(), ...limiters_on_redis($redis)], fn (Limiter $limiter) => $limiter->name === $name);
    must($named !== [], "there is no $name");
    report_kills(reset($named));
    $redis->kill();
}

$argc === 1 ? Record::save('scripts/bench kills', __DIR__ . '/kills.json', measure_all(...)) : measure_one($argv[1]);

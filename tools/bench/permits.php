<?php
/**
 * Measures concurrency limits. Writes permits.json.
 *
 *   php permits.php        measures denials, and then every limiter while its workers are killed
 *   php permits.php NAME   runs one limiter, prints its figures and writes nothing
 *
 * Denials: some processes hold all permits of a limit. Other processes hold permits of other
 * limits, so that the kernel has more locks to search. One process calls the full limit again and
 * again.
 *
 * Kills: 16 workers share 8 permits. Each worker takes a permit, works for up to 80 ms and releases
 * it, in a loop. One of 16 jobs takes three seconds. Twice a second a random worker with a permit
 * gets SIGKILL, and another worker replaces it. If a limiter's permits have a time to live, it is 2
 * seconds. Each worker notes in shared memory whether it works, so that the number of workers at
 * work is known at any time. An exact limiter keeps this number at 8.
 */
require __DIR__ . '/measure.inc.php';
require_once __DIR__ . '/../testkit/php/servers.php';
require 'Symfony/Component/Semaphore/autoload.php';
require 'Illuminate/Redis/autoload.php';

use TokenBucket\ConcurrencyLimit;

const LIMIT = 8;
const WORKERS = 16;
const SECONDS = 20;
const KILL_EVERY_MS = 500;
const SAMPLE_EVERY_MS = 50;
const LIFETIME = 2;
const LONG_JOB_MS = 3_000;
const ROUNDS = 501;

/** A limiter whose workers are killed. */
final class Rival
{
    /**
     * @param Closure(RedisServer): (Closure(Closure): bool) $make returns a function that does some
     *        work with a permit, or returns false without a permit
     */
    public function __construct(public readonly string $name, public readonly Closure $make)
    {
    }
}

/** @return list<Rival> the rivals; ours is the first */
function rivals(): array
{
    $redis = function (RedisServer $server): Redis {
        $redis = new Redis;
        $redis->connect($server->socket);
        return $redis;
    };
    return [
        new Rival('ConcurrencyLimit, shared memory', function () {
            $limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'kills', LIMIT);
            return function (Closure $work) use ($limit): bool {
                $permit = $limit->acquire();
                $permit->decision->allowed && $work();
                return $permit->decision->allowed;
            };
        }),
        new Rival('a counter in Redis', function (RedisServer $server) use ($redis) {
            $redis = $redis($server);
            return function (Closure $work) use ($redis): bool {
                $is_granted = $redis->incr('held') <= LIMIT;
                $is_granted && $work();
                $redis->decr('held');
                return $is_granted;
            };
        }),
        new Rival('a lock in Redis with a time to live', function (RedisServer $server) use ($redis) {
            $redis = $redis($server);
            $release = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end";
            return function (Closure $work) use ($redis, $release): bool {
                $token = bin2hex(random_bytes(8));
                for ($i = 0; $i < LIMIT; $i++) {
                    if ($redis->set("lock:$i", $token, ['NX', 'EX' => LIFETIME])) {
                        $work();
                        $redis->eval($release, ["lock:$i", $token], 1);
                        return true;
                    }
                }
                return false;
            };
        }),
        new Rival("Laravel's funnel()", function (RedisServer $server) use ($redis) {
            $connection = new class ($redis($server)) {
                public function __construct(private readonly Redis $redis)
                {
                }

                public function eval(string $script, int $keys, mixed ...$arguments): mixed
                {
                    return $this->redis->eval($script, $arguments, $keys);
                }
            };
            $funnel = new Illuminate\Redis\Limiters\ConcurrencyLimiter($connection, 'kills', LIMIT, LIFETIME);
            return function (Closure $work) use ($funnel): bool {
                try {
                    $funnel->block(0, $work);
                    return true;
                } catch (Illuminate\Contracts\Redis\LimiterTimeoutException) {
                    return false;
                }
            };
        }),
        new Rival("Symfony's Semaphore", function (RedisServer $server) use ($redis) {
            $factory = new Symfony\Component\Semaphore\SemaphoreFactory(new Symfony\Component\Semaphore\Store\RedisStore($redis($server)));
            return function (Closure $work) use ($factory): bool {
                $semaphore = $factory->createSemaphore('kills', LIMIT, 1, LIFETIME);
                if (!$semaphore->acquire()) {
                    return false;
                }
                $work();
                try {
                    $semaphore->release();
                } catch (Symfony\Component\Semaphore\Exception\SemaphoreReleasingException) {
                    // The permit had expired.
                }
                return true;
            };
        }),
        new Rival('flock() on 8 files', function (RedisServer $server) {
            return function (Closure $work) use ($server): bool {
                for ($i = 0; $i < LIMIT; $i++) {
                    $file = fopen("$server->folder/flock.$i", 'c');
                    if (flock($file, LOCK_EX | LOCK_NB)) {
                        $work();
                        return true;
                    }
                }
                return false;
            };
        }),
        new Rival('sem_get() with 8 permits', function (RedisServer $server) {
            $semaphore = sem_get($server->pid, LIMIT);
            return function (Closure $work) use ($semaphore): bool {
                $is_granted = sem_acquire($semaphore, true);
                if ($is_granted) {
                    $work();
                    sem_release($semaphore);
                }
                return $is_granted;
            };
        }),
    ];
}

/** The workers of one limiter, and whether each of them works. */
final class Workers
{
    private readonly Shmop $memory;
    /** @var list<int> process ids */
    private array $pids = [];

    /** @param Closure(): (Closure(Closure): bool) $make */
    public function __construct(private readonly Closure $make)
    {
        // The key zero is IPC_PRIVATE. The kernel frees the memory when its last process ends.
        $this->memory = shmop_open(0, 'c', 0600, WORKERS);
        shmop_delete($this->memory);
        for ($i = 0; $i < WORKERS; $i++) {
            $this->start($i);
        }
    }

    /** @return list<int> the numbers of the workers that work */
    public function at_work(): array
    {
        return array_keys(str_split(shmop_read($this->memory, 0, WORKERS)), '1');
    }

    public function replace(int $worker): void
    {
        $this->kill($worker);
        $this->start($worker);
    }

    public function kill_all(): void
    {
        array_map($this->kill(...), array_keys($this->pids));
    }

    private function kill(int $worker): void
    {
        posix_kill($this->pids[$worker], SIGKILL);
        pcntl_waitpid($this->pids[$worker], $status);
        $this->note($worker, false);
    }

    private function start(int $worker): void
    {
        $pid = pcntl_fork();
        must($pid !== -1, 'fork failed');
        if ($pid === 0) {
            @pcntl_setpriority(0);
            $this->run($worker);
        }
        $this->pids[$worker] = $pid;
    }

    private function run(int $worker): never
    {
        mt_srand(getmypid());
        $with_permit = ($this->make)();
        for (;;) {
            $with_permit(function () use ($worker) {
                $this->note($worker, true);
                usleep(1_000 * (mt_rand(1, 16) === 1 ? LONG_JOB_MS : mt_rand(0, 80)));
                $this->note($worker, false);
            }) || usleep(mt_rand(0, 20_000));
        }
    }

    private function note(int $worker, bool $works): void
    {
        shmop_write($this->memory, $works ? '1' : '0', $worker);
    }
}

/** @return array<string, mixed> the number of workers at work, sample by sample */
function kill_workers_of(Rival $rival): array
{
    // Raises the priority, so that the samples are taken on time. Without root this fails and
    // changes nothing.
    @pcntl_setpriority(-10);
    mt_srand(1);
    $server = RedisServer::start();
    $workers = new Workers(fn () => ($rival->make)($server));
    $start = hrtime(true);
    $samples = [];
    $kills = 0;
    for ($ms = 0; $ms <= SECONDS * 1_000; $ms += SAMPLE_EVERY_MS) {
        usleep(max(0, intdiv($start + $ms * 1_000_000 - hrtime(true), 1_000)));
        $at_work = $workers->at_work();
        $samples[] = [round((hrtime(true) - $start) / 1e9, 3), count($at_work)];
        if ($ms % KILL_EVERY_MS === 0 && $ms > 0 && $at_work !== []) {
            $workers->replace($at_work[array_rand($at_work)]);
            $kills++;
        }
    }
    $workers->kill_all();
    // All workers are dead, so all permits should be free.
    $with_permit = ($rival->make)($server);
    $free = 0;
    $take = function () use (&$take, &$free, $with_permit): void {
        // The next permit is taken while this one is held.
        $free < LIMIT && $with_permit(function () use (&$take, &$free) {
            $free++;
            $take();
        });
    };
    $take();
    $rival->name === 'sem_get() with 8 permits' && sem_remove(sem_get($server->pid, LIMIT));
    $server->kill();
    return ['kills' => $kills, 'seconds' => array_column($samples, 0), 'held' => array_column($samples, 1), 'free_at_the_end' => $free];
}

function report_kills(Rival $rival): void
{
    $figures = kill_workers_of($rival);
    $held = $figures['held'];
    // Leaves out the first second, in which the workers start.
    $steady = array_slice($held, intdiv(1_000, SAMPLE_EVERY_MS));
    printf("%-38s %5d %6d %8.1f %8.1f %8d\n", $rival->name, $figures['kills'], max($held), array_sum($steady) / count($steady), array_sum(array_slice($held, -100)) / 100, $figures['free_at_the_end']);
    Record::row($rival->name, $figures + ['workers' => WORKERS, 'limit' => LIMIT]);
}

/** Starts a process that holds a permit of a limit until it is killed. */
function start_holder(ConcurrencyLimit $limit): int
{
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $pid = pcntl_fork();
    if ($pid === 0) {
        fclose($mine);
        $permit = $limit->acquire();
        fwrite($its, $permit->decision->allowed ? '+' : '-');
        // Sleeps until the signal comes.
        for (;;) {
            sleep(3_600);
        }
    }
    must(fread($mine, 1) === '+', 'a holder got no permit');
    return $pid;
}

/**
 * Measures denials of a limit while $processes processes hold locks. $holders of them hold the
 * permits of this limit.
 */
function report_denials(int $holders, int $processes): void
{
    $storage = new TokenBucketStorageSharedMemory;
    $limit = new ConcurrencyLimit($storage, "denials $holders $processes", $holders);
    $pids = [];
    for ($i = 0; $i < $processes; $i++) {
        // The holders come last, so the kernel searches its whole list for each of them.
        $pids[] = start_holder($i >= $processes - $holders ? $limit : new ConcurrencyLimit($storage, "other $i", 1));
    }
    $times = [];
    for ($round = 0; $round < ROUNDS; $round++) {
        $start = hrtime(true);
        $permit = $limit->acquire();
        $times[] = hrtime(true) - $start;
        must($permit->decision->reason === 'too_many_concurrent', $permit->decision->reason);
    }
    foreach ($pids as $pid) {
        posix_kill($pid, SIGKILL);
    }
    foreach ($pids as $pid) {
        pcntl_waitpid($pid, $status);
    }
    $name = "a denial with $holders holders among $processes processes";
    $micros = array_map(fn (float $nanos) => $nanos / 1_000, quantiles($times, [0.5, 0.1, 0.9]));
    vprintf("%-58s %8.1f %8.1f %8.1f\n", [$name, ...$micros]);
    Record::row($name, ['ns' => quantiles($times, [0.5, 0.1, 0.9])]);
}

function measure_all(): void
{
    Record::title('Denials');
    printf("%-58s %8s %8s %8s\n", 'microseconds', 'median', '10 %', '90 %');
    foreach ([[8, 8], [8, 500], [64, 500], [8, 1_000], [64, 1_000], [8, 2_000], [64, 2_000]] as $numbers) {
        report_denials(...$numbers);
    }
    $this_php = explode("\0", rtrim(file_get_contents('/proc/self/cmdline'), "\0"));
    printf("\n%-38s %5s %6s %8s %8s %8s\n", 'permits held of 8', 'kills', 'most', 'average', 'last 5 s', 'free at the end');
    foreach (rivals() as $rival) {
        $process = proc_open([...$this_php, $rival->name], [], $pipes);
        must(proc_close($process) === 0, "$rival->name was not measured");
    }
}

/** Measures one limiter. */
function measure_one(string $name): void
{
    Record::title(sprintf('%d workers share %d permits, one is killed every %d ms', WORKERS, LIMIT, KILL_EVERY_MS));
    $named = array_filter(rivals(), fn (Rival $rival) => $rival->name === $name);
    must($named !== [], "there is no $name");
    report_kills(reset($named));
}

$argc === 1 ? Record::save('scripts/bench permits', __DIR__ . '/permits.json', measure_all(...)) : measure_one($argv[1]);

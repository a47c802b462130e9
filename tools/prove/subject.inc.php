<?php
/**
 * A subject of a trial: a limiter with its servers, its load and its faults, and the allowances of
 * the judge. Each store has a file in subjects/.
 */
abstract class Subject
{
    /**
     * The id, capacity and rate of each shared bucket. A token is refilled in whole microseconds,
     * because the stores count whole microseconds.
     */
    protected const SHARED = [[0, 20, 400], [1, 5, 100], [2, 40, 1000], [3, 10, 20]];
    /** The capacity and rate of each worker's own bucket. */
    protected const OWN = [3, 50];
    /** The settings of a load without blocks, floors, quotas and lockouts. */
    protected const PLAIN = ['drains' => 0, 'floors' => 0, 'others' => []];
    /**
     * The limits of quotas of a minute, by the second of the trial at which their windows start.
     * Some limits are reached only seconds later.
     */
    protected const QUOTAS = [1 => 40, 2 => 400, 4 => 4_000, 10 => 40];
    /** The attempts, the first block, the factor and the longest block of lockouts. */
    protected const LOCKOUTS = [[3, 0.02, 2.0, 0.5], [1, 0.01, 1.0, 0.01], [5, 0.05, 10.0, 1.0]];
    /** The unit of the instants in the records of lockouts, in nanoseconds. */
    protected const LOCKOUT_UNIT = 2_048;
    /** True if workers use the denial cache. */
    protected const DENIAL_CACHE = false;

    /** The greatest error of two readings of the clocks, in nanoseconds. */
    private const READING = 100_000;

    /** True if workers kill themselves. */
    public const DIES = false;
    /** The number of losses of state a second. */
    public const LOSSES = 0.1;

    /** The number of command-line workers. */
    public int $workers = 4;
    /** The number of concurrent clients of php-fpm. */
    public int $clients = 2;
    public ?Fpm $fpm = null;
    /** The folder of the segment, and of other files of the subject. */
    protected readonly string $folder;
    /** @var list<int> the processes of the server that was suspended last */
    private array $stopped = [];
    /** The Unix time at which the trial began, rounded up. */
    private ?int $began = null;
    /** The Unix time minus the time of hrtime() when the trial began, in nanoseconds. */
    private int $offset;

    public function __construct()
    {
        $this->folder = temporary_folder();
    }

    /** Returns the description of the storage that Extension in worker.php creates. */
    abstract protected function storage(): array;

    /**
     * Returns the judge's allowances by name, as nanoseconds or counts. src/rules.rs explains
     * each.
     */
    abstract protected function allowances(): array;

    /**
     * Returns the faults of the store by name. Each fault is a frequency per second and a
     * callable(Trial, roll, milliseconds). The callable starts the fault and may return a callable
     * that ends it.
     */
    abstract protected function store_faults(): array;

    /**
     * Returns the faults by which the store may lose all buckets. The trial runs them in turn and
     * rarely, because each loss allows one more capacity. A fault may return a callable, which runs
     * when nothing more can be lost.
     *
     * @return array<string, callable(): mixed> by name
     */
    public function losses(): array
    {
        return [];
    }

    /** Returns the PHP settings of the workers. */
    protected function ini(): array
    {
        return ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.shm_size' => '1M'];
    }

    /** Reports whether workers of php-fpm call the limiter, too. */
    protected function with_fpm(): bool
    {
        return true;
    }

    /** Returns the command that starts the PHP of a worker. */
    public function command(int $slot): string
    {
        return php_command($this->ini());
    }

    /**
     * Returns the process id of a worker's PHP. $id is the id of the process that command() has
     * started.
     */
    public function process(int $slot, int $id): int
    {
        return $id;
    }

    /** Returns the code that the workers of php-fpm run. It is one file. */
    public function code(): string
    {
        return file_get_contents(__DIR__ . '/worker.php');
    }

    /** Lets a worker of php-fpm run a script. Returns its output, or null if the worker died. */
    public function request(string $script, array $query): ?string
    {
        return $this->fpm->get($script, $query);
    }

    /** Waits until no process of the trial runs. $folder holds the logs. */
    public function finish(string $folder): void
    {
    }

    /** Returns the path of this tree's extension. */
    protected static function module(): string
    {
        return dirname(__DIR__, 2) . '/modules/tokenbucket.so';
    }

    /** Replaces this tree's extension in a command by another module. */
    protected static function with_module(string $command, string $module): string
    {
        $command = str_replace('extension=' . self::module(), "extension=$module", $command, $count);
        if ($count !== 1) {
            throw new RuntimeException("not the extension of this tree: $command");
        }
        return $command;
    }

    public function load(): array
    {
        return [
            'storage' => $this->storage(),
            'shared' => [...static::SHARED, ...$this->uncached(static::SHARED, 10)],
            'own' => array_map(fn (int $slot) => [100 + $slot, ...static::OWN, !static::DENIAL_CACHE], range(0, $this->workers - 1)),
            'costs' => 4,
            'refunds' => 25,
            'resets' => 2_500,
            'batches' => 12,
            // One of `charges` grants is followed by a charge or a settlement, and one of
            // `reserves` other grants by a reservation.
            'charges' => 12,
            'reserves' => 8,
            // Some takes have a floor, and some calls block or drain the bucket.
            'floors' => 4,
            'drains' => 400,
            // A quarter of the calls are on quotas and lockouts. One of `successes` calls of a
            // lockout is a success.
            'others' => [...$this->quotas(static::QUOTAS), ...self::lockouts(static::LOCKOUTS)],
            'successes' => 300,
            // The number of workers that cancel some of their reservations, the most reservations
            // that a worker holds for a later cancel, and the average number of calls until then.
            'cancellers' => 99,
            'held' => 8,
            'hold' => 40,
            // The average pause after each call, in microseconds.
            'pause' => 0,
            // The milliseconds of each two and a half seconds in which workers make few calls.
            'calm' => 0,
        ];
    }

    /** @return list<array{int, int, int, anchor: int}> as is_quota() in worker.php */
    protected function quotas(array $limits): array
    {
        if ($this->began === null) {
            $this->began = (int) ceil(microtime(true));
            $this->offset = self::offset();
        }
        $quotas = [];
        foreach ($limits as $second => $limit) {
            $quotas[] = [5_000 + count($quotas), $limit, 0, 'anchor' => $this->began + $second];
        }
        return $quotas;
    }

    /** @return list<array{int, lockout: array}> as is_lockout() in worker.php */
    protected static function lockouts(array $rules): array
    {
        return array_map(fn (int $index) => [6_000 + $index, 'lockout' => $rules[$index]], array_keys($rules));
    }

    /**
     * Returns copies of the buckets without the denial cache, or an empty array if the subject does
     * not use the denial cache.
     */
    private function uncached(array $buckets, int $offset): array
    {
        return static::DENIAL_CACHE ? array_map(fn (array $bucket) => [$bucket[0] + $offset, $bucket[1], $bucket[2], false], $buckets) : [];
    }

    /**
     * Returns the rules of the log, as docs/explanation/proof.md describes them.
     *
     * @param int $late the greatest delay of a resumption in nanoseconds. It counts twice, because
     *        a server and a worker may both have been resumed late
     */
    public function rules(int $late): string
    {
        $text = '';
        foreach ($this->allowances() as $name => $number) {
            $number += in_array($name, ['linger', 'wait'], true) ? 2 * $late : 0;
            $text .= "$name $number\n";
        }
        $load = $this->load();
        foreach ([...$load['shared'], ...$load['own']] as $bucket) {
            $text .= "bucket $bucket[0] " . (int) round($bucket[1] * 1000) . ' ' . (int) round($bucket[2] * 1000) . "\n";
            $text .= ($bucket[3] ?? true) ? '' : "uncached $bucket[0]\n";
        }
        $text .= isset($load['phases']) ? 'shared ' . implode(' ', array_column($load['shared'], 0)) . "\n" : '';
        return $text . implode(array_map($this->rule_of(...), $load['others']));
    }

    /** Returns the rule of a quota or lockout. */
    private function rule_of(array $limit): string
    {
        if (is_lockout($limit)) {
            [$attempts, $block, $factor, $longest] = $limit['lockout'];
            return sprintf("lockout %d %d %d %d %d %d\n", $limit[0], $attempts, $block * 1e9, $factor * 1e3, $longest * 1e9, static::LOCKOUT_UNIT);
        }
        // The judge knows the clock of hrtime() only. NTP may have corrected the Unix clock during
        // the trial.
        $start = $limit['anchor'] * 1_000_000_000 - $this->offset;
        $error = abs(self::offset() - $this->offset) + self::READING;
        return sprintf("quota %d %d %d %d %d\n", $limit[0], $limit[1], $error, $start, $start + 60_000_000_000);
    }

    /** Returns the Unix time minus the time of hrtime(), in nanoseconds. */
    public static function offset(): int
    {
        $offsets = array_map(fn () => (int) (microtime(true) * 1e9) - hrtime(true), range(0, 99));
        return max($offsets);
    }

    /** @return array<string, array{float, callable}> */
    public function faults(): array
    {
        $faults = [
            'worker killed' => [4, fn (Trial $trial, int $roll) => $trial->kill_worker($roll)],
            'worker stopped' => [4, fn (Trial $trial, int $roll, int $milliseconds) => $trial->stop_worker($roll, $milliseconds)],
        ];
        if ($this->fpm !== null) {
            $faults += [
                'fpm worker killed' => [2, fn (Trial $trial, int $roll) => $trial->kill_fpm_worker($roll)],
                'fpm worker stopped' => [2, fn (Trial $trial, int $roll, int $milliseconds) => $trial->stop_fpm_worker($roll, $milliseconds)],
                'fpm reloaded' => [0.3, fn () => send_signal('USR2', $this->fpm->master())],
            ];
        }
        return $faults + $this->store_faults();
    }

    /**
     * Starts a php-fpm with a worker for each client. Returns null if the subject does without, or
     * if it is not installed.
     *
     * @param array<string, string> $directives more directives of the pool
     */
    protected function start_fpm(array $ini = [], array $directives = []): ?Fpm
    {
        return !$this->with_fpm() || Fpm::binary() === null ? null : new Fpm(['www' => ['pm.max_children' => $this->clients] + $directives], $ini);
    }

    /** Returns a fault that suspends the server and its child processes. */
    protected function stopped(ServerProcess $server): array
    {
        return [0.5, function (Trial $trial, int $roll, int $milliseconds) use ($server) {
            $children = @file_get_contents("/proc/$server->pid/task/$server->pid/children");
            $this->stopped = array_map(intval(...), [$server->pid, ...preg_split('/ /', (string) $children, 0, PREG_SPLIT_NO_EMPTY)]);
            $trial->stop($milliseconds, ...$this->stopped);
        }];
    }

    /**
     * Resumes a suspended server at once, because a suspended server sends no reply to this
     * process.
     */
    protected function go_on(): void
    {
        if ($this->stopped !== []) {
            send_signal('CONT', ...$this->stopped);
        }
    }

    /** Returns faults that drop or cut replies after the server acted. */
    protected function replies_lost(Proxy $proxy): array
    {
        return [
            'replies dropped' => [0.5, function () use ($proxy) {
                $proxy->set(Proxy::SWALLOW_REPLIES);
                return fn () => $proxy->set(Proxy::PASS);
            }],
            'replies cut in half' => [0.5, function () use ($proxy) {
                $proxy->set(Proxy::HALF_REPLY);
                return fn () => $proxy->set(Proxy::PASS);
            }],
            'connections cut' => [0.5, fn () => $proxy->cut()],
        ];
    }

    public function stop(): void
    {
        $this->fpm?->stop();
    }
}

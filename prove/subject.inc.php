<?php
/**
 * What is tried: a limiter, its servers, the load that it gets, the faults that it must stand, and the rules that it is
 * judged by. One file a store in subjects/.
 */
abstract class Subject
{
    /** Capacity and rate of the buckets that all share. A token takes whole microseconds, as in the stores. */
    protected const SHARED = [[0, 20, 400], [1, 5, 100], [2, 40, 1000], [3, 10, 20]];
    /** Of the bucket that each worker has for itself. */
    protected const OWN = [3, 50];
    /** Whether workers may remember denials of the store. */
    protected const HINTS = false;

    /** Whether workers die by themselves. */
    public const DIES = false;

    /** Workers of the command line. */
    public int $workers = 4;
    /** How many ask php-fpm at the same time. */
    public int $clients = 2;
    public ?Fpm $fpm = null;
    /** @var list<int> processes of the server that was stopped last */
    private array $stopped = [];

    /** What a worker makes its limiter of: see Extension in worker.php. */
    abstract protected function storage(): array;

    /** Nanoseconds and counts by the rule's name: see prove/src/rules.rs, where each is explained. */
    abstract protected function allowances(): array;

    /** What happens to the store: name => [how often a second, callable(Trial, roll, milliseconds): ?callable its end]. */
    abstract protected function store_faults(): array;

    /**
     * How the store may lose all buckets. Each time allows a capacity more, so they take turns.
     *
     * @return array<string, callable(Trial): mixed> by name
     */
    public function losses(): array
    {
        return [];
    }

    /** Settings of the workers' php. */
    protected function ini(): array
    {
        return [];
    }

    /** What starts a worker's php. */
    public function command(int $slot): string
    {
        return php_command($this->ini());
    }

    public function load(): array
    {
        return [
            'storage' => $this->storage(),
            'shared' => [...static::SHARED, ...$this->unhinted(static::SHARED, 10)],
            'own' => array_map(fn (int $slot) => [100 + $slot, ...static::OWN, !static::HINTS], range(0, $this->workers - 1)),
            'costs' => 4,
            'refunds' => 25,
            'resets' => 2_500,
            // Microseconds, on average, after each call.
            'pause' => 0,
        ];
    }

    /** The same buckets again, without hints, where there are any. */
    private function unhinted(array $buckets, int $offset): array
    {
        return static::HINTS ? array_map(fn (array $bucket) => [$bucket[0] + $offset, $bucket[1], $bucket[2], false], $buckets) : [];
    }

    /** @param int $late by how many nanoseconds somebody was stopped longer than meant: server and worker may both have been */
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
            $text .= ($bucket[3] ?? true) ? '' : "unhinted $bucket[0]\n";
        }
        return $text;
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

    /** A php-fpm of two workers, where it is installed. */
    protected function start_fpm(array $ini = []): ?Fpm
    {
        return Fpm::binary() === null ? null : new Fpm(['www' => ['pm.max_children' => $this->clients]], $ini);
    }

    /** Stops the server and its processes for the while that the fault lasts. */
    protected function stopped(ServerProcess $server): array
    {
        return [0.5, function (Trial $trial, int $roll, int $milliseconds) use ($server) {
            $children = @file_get_contents("/proc/$server->pid/task/$server->pid/children");
            $this->stopped = array_map(intval(...), [$server->pid, ...preg_split('/ /', (string) $children, 0, PREG_SPLIT_NO_EMPTY)]);
            $trial->stop($milliseconds, ...$this->stopped);
        }];
    }

    /** Lets a stopped server go on at once: who is stopped answers nobody, this process included. */
    protected function go_on(): void
    {
        if ($this->stopped !== []) {
            send_signal('CONT', ...$this->stopped);
        }
    }

    /** Replies vanish, or break off, after the server acted. */
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

<?php
/** A memcached behind an unreliable connection. */
class MemcachedSubject extends Subject
{
    protected const HINTS = true;

    private readonly MemcachedServer $server;
    private readonly Proxy $proxy;
    protected readonly string $folder;

    public function __construct()
    {
        $this->folder = temporary_folder();
        $this->server = MemcachedServer::startTcp();
        $this->proxy = new Proxy("tcp://127.0.0.1:{$this->server->port}");
    }

    protected function ini(): array
    {
        return ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.shm_size' => '1M'];
    }

    protected function storage(): array
    {
        return ['class' => 'TokenBucketStorageMemcached', 'arguments' => [
            'servers' => "127.0.0.1:{$this->proxy->port}", 'onFailure' => 'Throw', 'hintMaxAge' => 0.1,
        ]];
    }

    protected function allowances(): array
    {
        return ['tick' => 1_000, 'linger' => 500_000_000, 'wait' => 300_000_000, 'hint' => 110_000_000];
    }

    protected function store_faults(): array
    {
        return ['server stopped' => $this->stopped($this->server)] + $this->replies_lost($this->proxy);
    }

    public function losses(): array
    {
        return [
            'server killed' => fn () => $this->server->restart(),
            'server emptied' => function () {
                $this->go_on();
                $this->server->command('flush_all', 'OK');
            },
        ];
    }

    public function stop(): void
    {
        parent::stop();
        $this->proxy->stop();
        $this->server->kill();
    }
}

/**
 * Two hosts whose wall clocks are set to random times.
 *
 * PHP may load extensions with RTLD_DEEPBIND. Then they find libc before a library in LD_PRELOAD. So
 * the workers load a module that depends on libfaketime first and on the extension second.
 */
class MemcachedClocksSubject extends MemcachedSubject
{
    /** The allowed error of a clock in microseconds. */
    private const EPSILON = 5_000;
    private const LIBRARY = '/usr/lib/*/faketime/libfaketime.so.1';

    /** @param int $error the greatest error of a clock in microseconds */
    public function __construct(private readonly int $error = self::EPSILON)
    {
        parent::__construct();
        [$library] = glob(self::LIBRARY);
        exec(implode(' ', array_map(escapeshellarg(...), [
            'cc', '-shared', '-o', "$this->folder/clocks.so", '-Wl,--no-as-needed,-rpath,' . dirname($library), $library, self::module(),
        ])) . ' 2>&1', $told, $code);
        if ($code !== 0) {
            throw new RuntimeException(implode("\n", $told));
        }
        foreach ([0, 1] as $host) {
            $this->step($host, 0);
        }
    }

    /** Reports whether libfaketime is installed. */
    public static function is_possible(): bool
    {
        return glob(self::LIBRARY) !== [];
    }

    public function command(int $slot): string
    {
        $host = $slot % 2;
        $environment = "FAKETIME_TIMESTAMP_FILE=$this->folder/clock$host"
            . ' FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1';
        $command = php_command(['tokenbucket.shm_path' => "$this->folder/segment$host"] + $this->ini());
        return "env $environment " . self::with_module($command, "$this->folder/clocks.so");
    }

    protected function allowances(): array
    {
        return ['skew' => 2_000 * self::EPSILON] + parent::allowances();
    }

    protected function store_faults(): array
    {
        return [
            'clock stepped' => [3, fn (Trial $trial, int $roll) => $this->step($roll % 2, ($roll >> 1) % (2 * $this->error + 1) - $this->error)],
        ] + parent::store_faults();
    }

    private function step(int $host, int $microseconds): void
    {
        // The file is replaced atomically, because a partly written file would set another time.
        file_put_contents("$this->folder/next", sprintf('%+.6f', $microseconds / 1e6));
        rename("$this->folder/next", "$this->folder/clock$host");
    }
}

<?php
/** A memcached behind an unreliable connection. */
class MemcachedSubject extends Subject
{
    protected const DENIAL_CACHE = true;

    private readonly MemcachedServer $server;
    private readonly Proxy $proxy;

    public function __construct()
    {
        parent::__construct();
        $this->server = MemcachedServer::startTcp();
        $this->proxy = new Proxy("tcp://127.0.0.1:{$this->server->port}");
    }

    protected function storage(): array
    {
        return ['class' => 'TokenBucketStorageMemcached', 'arguments' => [
            'servers' => "127.0.0.1:{$this->proxy->port}", 'onFailure' => 'Throw', 'denialCacheMaxAge' => 0.1,
        ]];
    }

    protected function allowances(): array
    {
        return ['tick' => 1_000, 'linger' => 500_000_000, 'wait' => 300_000_000, 'cached' => 110_000_000];
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

/** Two hosts whose wall clocks are set to random times. */
class MemcachedClocksSubject extends MemcachedSubject
{
    /** The allowed error of a clock in microseconds. */
    private const EPSILON = 5_000;

    public function __construct()
    {
        parent::__construct();
        link_to_faketime(self::module(), "$this->folder/clocks.so");
        foreach ([0, 1] as $host) {
            set_clock("$this->folder/clock$host", 0);
        }
    }

    public function command(int $slot): string
    {
        $host = $slot % 2;
        $command = php_command(['tokenbucket.shm_path' => "$this->folder/segment$host"] + $this->ini());
        return environment_of_clock("$this->folder/clock$host") . ' ' . self::with_module($command, "$this->folder/clocks.so");
    }

    protected function allowances(): array
    {
        return ['skew' => 2_000 * self::EPSILON] + parent::allowances();
    }

    protected function store_faults(): array
    {
        return [
            'clock stepped' => [3, fn (Trial $trial, int $roll) => set_clock("$this->folder/clock" . $roll % 2, ($roll >> 1) % (2 * self::EPSILON + 1) - self::EPSILON)],
        ] + parent::store_faults();
    }
}

<?php
/** Two Redis servers, of which one replicates the other, behind a wire that fails. */
class RedisSubject extends Subject
{
    protected const HINTS = true;

    protected readonly Proxy $proxy;
    private RedisServer $primary;
    private RedisServer $replica;
    private readonly string $folder;

    public function __construct()
    {
        $this->folder = temporary_folder();
        $this->primary = RedisServer::start();
        $this->replica = RedisServer::start(['--repl-diskless-sync-delay', '0']);
        $this->replica->command('REPLICAOF', '127.0.0.1', (string) $this->primary->port);
        $this->proxy = new Proxy("unix://{$this->primary->socket}");
        // In another segment: another host, as far as hints and breakers go.
        $this->fpm = $this->start_fpm();
    }

    protected function ini(): array
    {
        return ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.shm_size' => '1M'];
    }

    protected function storage(): array
    {
        return ['class' => 'TokenBucketStorageRedis', 'arguments' => [
            'dsn' => "redis://127.0.0.1:{$this->proxy->port}", 'onFailure' => 'Throw', 'hintMaxAge' => 0.1,
        ]];
    }

    protected function allowances(): array
    {
        // What was sent before a pause of at most 245 ms is done after it; hints are a tenth of a second old at most.
        return ['tick' => 1_000, 'linger' => 500_000_000, 'hint' => 110_000_000];
    }

    protected function store_faults(): array
    {
        return [
            // Who is the primary changes.
            'server stopped' => [0.5, fn (mixed ...$with) => $this->stopped($this->primary)[1](...$with)],
        ] + $this->replies_lost($this->proxy);
    }

    public function losses(): array
    {
        return [
            'server killed' => fn () => $this->primary->restart(),
            'server emptied' => function () {
                $this->go_on();
                $this->primary->command('FLUSHALL');
            },
            'replica promoted' => $this->promote(...),
        ];
    }

    private function promote(): void
    {
        $this->replica->command('REPLICAOF', 'NO', 'ONE');
        $this->proxy->lead("unix://{$this->replica->socket}");
        [$this->primary, $this->replica] = [$this->replica, $this->primary];
        $this->go_on();
        $this->replica->command('REPLICAOF', '127.0.0.1', (string) $this->primary->port);
    }

    public function stop(): void
    {
        parent::stop();
        $this->proxy->stop();
        $this->primary->kill();
        $this->replica->kill();
    }
}

/** With the default policy: while Redis fails, the host's own buckets stand in. Twice the bound on one host. */
class RedisLocalSubject extends RedisSubject
{
    public function __construct()
    {
        parent::__construct();
        $this->fpm?->stop();
        $this->fpm = null;
        $this->workers = 5;
    }

    public function load(): array
    {
        // A refund goes to one of the two buckets, and nobody knows to which.
        return ['refunds' => 0, 'resets' => 0] + parent::load();
    }

    protected function storage(): array
    {
        $storage = parent::storage();
        $storage['arguments']['onFailure'] = 'Local';
        return $storage;
    }

    protected function allowances(): array
    {
        return ['buckets' => 2] + parent::allowances();
    }
}

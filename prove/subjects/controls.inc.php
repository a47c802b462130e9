<?php
require_once __DIR__ . '/redis.inc.php';

/**
 * A known-bad limiter. If the judge does not convict it, the judge's acquittals prove nothing.
 */
class ControlSubject extends Subject
{
    private readonly RedisServer|MemcachedServer $server;

    public function __construct(private readonly string $control)
    {
        $memcached = $control === 'CheckThenIncrement';
        $this->server = $memcached ? MemcachedServer::startUnix() : RedisServer::start();
    }

    public function load(): array
    {
        return ['control' => $this->control, 'address' => "unix://{$this->server->socket}", 'refunds' => 0, 'resets' => 0] + parent::load();
    }

    protected function storage(): array
    {
        return [];
    }

    protected function allowances(): array
    {
        return ['tick' => 1_000, 'linger' => 500_000_000];
    }

    protected function store_faults(): array
    {
        return ['server stopped' => $this->stopped($this->server)];
    }

    public function stop(): void
    {
        $this->server->kill();
    }
}

/**
 * An application that retries after a lost reply, so that the call is charged twice. Then other
 * calls are denied although the bucket should hold enough.
 */
class BlindRetrySubject extends RedisSubject
{
    public function __construct()
    {
        parent::__construct();
        // Replies are dropped until the first fault ends, so that calls are charged twice while the
        // buckets are full.
        $this->proxy->set(Proxy::SWALLOW_REPLIES);
    }

    public function load(): array
    {
        // The rate is so low that a token charged twice is not refilled before another call is
        // denied.
        $buckets = array_map(fn (int $id) => [$id, 5, 0.05], range(0, 39));
        return [
            'control' => 'BlindRetry', 'shared' => $buckets, 'own' => [], 'refunds' => 0, 'resets' => 0, 'costs' => 1, 'pause' => 8_000,
        ] + parent::load();
    }

    protected function store_faults(): array
    {
        return array_map(fn (array $fault) => [3, $fault[1]], array_slice($this->replies_lost($this->proxy), 0, 2));
    }

    public function losses(): array
    {
        // A loss of state would explain every denial.
        return [];
    }
}

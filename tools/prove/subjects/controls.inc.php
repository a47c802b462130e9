<?php
require_once __DIR__ . '/cluster.inc.php';
require_once __DIR__ . '/redis.inc.php';
require_once __DIR__ . '/shared_memory.inc.php';

/**
 * A limiter that is wrong on purpose. If the judge accepts its log, the accepted logs of other
 * limiters prove nothing.
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
        return ['control' => $this->control, 'address' => $this->address()] + self::TAKES + parent::load();
    }

    protected function address(): string
    {
        return "unix://{$this->server->socket}";
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

/** A known-bad quota or lockout on Redis. */
class LimitControlSubject extends ControlSubject
{
    /**
     * On a busy machine, workers may start after the first window. They still reach the second one.
     */
    public const WINDOWS = [1 => 40, 2 => 40];
    /** The limits of quotas, and the rules of lockouts, by control. */
    private const LIMITS = [
        'FirstHitWindow' => [self::WINDOWS, []],
        'RenewedWindow' => [self::WINDOWS, []],
        'CheckThenCount' => [[], [[3, 0.02, 2.0, 0.5]]],
        'RenewedBlock' => [[], [[1, 0.05, 1.0, 0.05]]],
    ];

    public function __construct(private readonly string $limit)
    {
        parent::__construct($limit);
    }

    public function load(): array
    {
        [$quotas, $lockouts] = self::LIMITS[$this->limit];
        $others = [...$this->quotas($quotas), ...self::lockouts($lockouts)];
        return ['shared' => [], 'own' => [], 'others' => $others] + parent::load();
    }

    /**
     * Only suspends workers. A kill would leave an attempt of unknown outcome, which would explain
     * the denials of its block.
     */
    public function faults(): array
    {
        return ['worker stopped' => parent::faults()['worker stopped']];
    }
}

/** The load of an application that retries after a lost reply, so that a call is charged twice. */
trait BlindRetryLoad
{
    public function load(): array
    {
        // The rate is so low that a token charged twice is not refilled before another call is
        // denied.
        $buckets = array_map(fn (int $id) => [$id, self::CAPACITY, 0.05], range(0, 39));
        return [
            'control' => 'BlindRetry', 'shared' => $buckets, 'own' => [], 'costs' => 1, 'pause' => 8_000,
        ] + self::TAKES + parent::load();
    }

    public function losses(): array
    {
        // A loss of state would explain every denial.
        return [];
    }
}

/** Retries on a Redis that loses replies. */
class BlindRetrySubject extends RedisSubject
{
    use BlindRetryLoad;

    private const CAPACITY = 8;

    public function __construct()
    {
        parent::__construct();
        // Replies are dropped until the first fault ends, so that calls are charged twice while the
        // buckets are full.
        $this->proxy->set(Proxy::SWALLOW_REPLIES);
    }

    protected function store_faults(): array
    {
        return array_map(fn (array $fault) => [3, $fault[1]], array_slice($this->replies_lost($this->proxy), 0, 2));
    }
}

/** Retries on a cluster whose primaries reply too late. */
class BlindRetryClusterSubject extends RedisClusterSubject
{
    use BlindRetryLoad;

    /**
     * With this capacity, the buckets are empty after about ten faults. With 8 tokens they were
     * empty after about three, and in one of five runs none of these three faults led to a call
     * that was charged twice.
     */
    private const CAPACITY = 24;

    protected function store_faults(): array
    {
        return ['primary stopped' => [4, parent::store_faults()['primary stopped'][1]]];
    }
}

/** An application that does a part of the extension's work wrongly, on shared memory. */
class WrongCallerSubject extends SharedMemorySubject
{
    /** The settings of the load by control. The costs are up to the capacity. */
    private const LOADS = [
        'ForgottenDebt' => ['reserves' => 2, 'cancellers' => 0],
        // One worker holds one reservation at a time, so that no other cancel can explain the extra
        // tokens.
        'WholeCancel' => ['reserves' => 2, 'cancellers' => 1, 'held' => 1, 'hold' => 100],
        'ForgottenCharge' => ['charges' => 2],
        // The last bucket denies nearly all calls.
        'LateGiveBack' => ['batches' => 40, 'shared' => [[1, 4, 400], [2, 4, 400], [3, 1, 0.1]]],
        'CheckedFloor' => ['floors' => 1],
        // The bucket denies nearly all batches.
        'NextWindowGiveBack' => ['batches' => 2, 'shared' => [[3, 1, 0.1]]],
    ];

    public function __construct(private readonly string $control)
    {
        parent::__construct();
    }

    protected function with_fpm(): bool
    {
        return false;
    }

    public function load(): array
    {
        $quotas = $this->control === 'NextWindowGiveBack' ? $this->quotas(LimitControlSubject::WINDOWS) : [];
        return ['control' => $this->control, 'own' => [], 'others' => $quotas] + self::LOADS[$this->control]
            + ['shared' => [[1, 4, 200], [2, 4, 400]]] + self::TAKES + parent::load();
    }

    public function faults(): array
    {
        $faults = parent::faults();
        if ($this->control === 'NextWindowGiveBack') {
            // A killed worker would not give its tokens back.
            unset($faults['worker killed']);
        }
        return $faults;
    }
}

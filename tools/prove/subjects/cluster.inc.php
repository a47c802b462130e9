<?php
require_once __DIR__ . '/../../testkit/php/cluster.php';

/** The base of subjects whose Redis servers replace each other. */
abstract class RedisFleetSubject extends Subject
{
    protected const DENIAL_CACHE = true;
    // A loss of state lasts until a replica is promoted. So it allows more tokens than on a single
    // server, and losses are rarer here.
    public const LOSSES = 0.04;

    public function __construct()
    {
        parent::__construct();
        $this->start();
        $this->fpm = $this->start_fpm();
    }

    abstract protected function start(): void;

    /** @return list<ServerProcess> all servers */
    abstract protected function servers(): array;

    protected function allowances(): array
    {
        // The same as for a single Redis. RedisSubject gives the reasons.
        return ['tick' => 1_000, 'linger' => 500_000_000, 'cached' => 110_000_000];
    }

    public function load(): array
    {
        // A loss of state lasts for about two seconds. Each charge and reservation in that time
        // raises the tokens that the loss allows, so they are rarer here.
        return ['charges' => 36, 'reserves' => 16] + parent::load();
    }

    /** Ends all connections of workers. */
    protected function cut(RedisServer ...$servers): void
    {
        foreach ($servers as $server) {
            $server->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        }
    }

    public function stop(): void
    {
        parent::stop();
        foreach ($this->servers() as $server) {
            $server->kill();
        }
    }
}

/** A Redis Cluster of six servers, to which a seventh is added. */
class RedisClusterSubject extends RedisFleetSubject
{
    /** The milliseconds without a reply after which the cluster replaces a primary. */
    private const NODE_TIMEOUT = 1_500;

    /** @var list<RedisServer> the seventh server has no replica */
    private array $nodes;
    /** @var ?callable completes the migration of a slot that has begun */
    private $migration = null;

    protected function start(): void
    {
        $this->nodes = start_cluster($this->options(), 1);
    }

    protected function servers(): array
    {
        return $this->nodes;
    }

    /** @return list<string> */
    private function options(): array
    {
        return [
            '--cluster-node-timeout', (string) self::NODE_TIMEOUT, '--repl-diskless-sync-delay', '0',
            // Otherwise a primary that loses its last slot becomes a replica.
            '--cluster-allow-replica-migration', 'no',
        ];
    }

    protected function storage(): array
    {
        $seeds = implode(',', array_map(fn (RedisServer $seed) => "127.0.0.1:$seed->port", $this->seeds()));
        return ['class' => 'TokenBucketStorageRedis', 'arguments' => [
            'dsn' => "redis+cluster://$seeds", 'prefix' => $this->prefix(), 'onFailure' => 'Throw', 'denialCacheMaxAge' => 0.1,
        ]];
    }

    protected function prefix(): string
    {
        return 'tokenbucket:';
    }

    /** @return list<RedisServer> two servers, which begin as replicas */
    private function seeds(): array
    {
        return [$this->nodes[3], $this->nodes[4]];
    }

    protected function store_faults(): array
    {
        return [
            'primary stopped' => [0.5, fn (Trial $trial, int $roll, int $milliseconds) => $this->stopped($this->primary($roll))[1]($trial, $roll, $milliseconds)],
            'replica stopped' => [0.3, fn (Trial $trial, int $roll, int $milliseconds) => $trial->stop($milliseconds, $this->replica($roll)->pid)],
            'seeds stopped' => [0.3, fn (Trial $trial, int $roll, int $milliseconds) => $trial->stop($milliseconds, ...array_column($this->seeds(), 'pid'))],
            'connections cut' => [0.5, fn () => $this->cut(...$this->nodes)],
            'replica promoted' => [0.1, fn (Trial $trial, int $roll) => $this->promote($roll)],
            'slot migrated' => [1, fn (Trial $trial, int $roll) => $this->migrate($roll)],
            'server added' => [0.01, fn () => $this->add()],
        ];
    }

    public function losses(): array
    {
        // A replica may lack the last writes of the primary.
        return ['primary killed' => $this->replace(...)];
    }

    private function primary(int $roll): RedisServer
    {
        return $this->of_role('master', $roll);
    }

    private function replica(int $roll): RedisServer
    {
        return $this->of_role('slave', $roll);
    }

    /** Returns one of the servers with this role, but not the seventh server. */
    private function of_role(string $role, int $roll): RedisServer
    {
        $this->go_on();
        $all = array_filter(array_slice($this->nodes, 0, 6), fn (RedisServer $node) => $node->command('ROLE')[0] === $role);
        return array_values($all)[$roll % count($all)];
    }

    /**
     * Makes a replica and its primary change roles. Nothing is lost. Returns false if the other
     * primaries refuse, because they have replaced this primary a moment ago.
     */
    private function promote(int $roll): bool
    {
        $this->complete_migration();
        $replica = $this->replica($roll);
        $replica->command('CLUSTER', 'FAILOVER');
        // The cluster gives up after five seconds.
        for ($deadline = microtime(true) + 5.5; $replica->command('ROLE')[0] !== 'master'; usleep(10_000)) {
            if (microtime(true) > $deadline) {
                return false;
            }
        }
        $this->wait_for_agreement();
        return true;
    }

    /**
     * Kills a primary and waits until its replica replaces it. Returns a function that restarts it
     * as a replica.
     */
    private function replace(): callable
    {
        $this->complete_migration();
        $primary = $this->primary(mt_rand());
        $primary->kill();
        $other = $this->nodes[0] === $primary ? $this->nodes[1] : $this->nodes[0];
        $owners = fn () => array_column(array_column($other->command('CLUSTER', 'SLOTS'), 2), 1);
        wait_for('a replica is promoted', fn () => !in_array($primary->port, $owners(), true), 15);
        return function () use ($primary): void {
            $primary->restart();
            wait_for('it is a replica', fn () => ($role = $primary->command('ROLE'))[0] === 'slave' && $role[3] === 'connected', 15);
            $this->wait_for_agreement();
        };
    }

    /** Waits until all servers name the same primary for each slot. */
    private function wait_for_agreement(): void
    {
        $owners = function (RedisServer $node): array {
            $ranges = array_map(fn (array $range) => [$range[0], $range[1], $range[2][1]], $node->command('CLUSTER', 'SLOTS'));
            sort($ranges);
            return $ranges;
        };
        wait_for('the servers agree', fn () => count(array_unique(array_map($owners, $this->nodes), SORT_REGULAR)) === 1, 15);
    }

    /**
     * Starts to move the slot of a bucket to another primary. Returns a function that moves the
     * keys and completes the migration.
     */
    private function migrate(int $roll): callable|false
    {
        $this->complete_migration();
        $slot = (string) $this->nodes[0]->command('CLUSTER', 'KEYSLOT', $this->prefix() . 'b' . $roll % count(self::SHARED));
        $primaries = array_values(array_filter($this->nodes, fn (RedisServer $node) => $node->command('ROLE')[0] === 'master'));
        $owns = fn (RedisServer $node) => $node->command('CLUSTER', 'COUNTKEYSINSLOT', $slot) > 0;
        $from = current(array_filter($primaries, $owns));
        if ($from === false) {
            // No call has created the bucket yet.
            return false;
        }
        $others = array_values(array_filter($primaries, fn (RedisServer $node) => $node !== $from));
        $to = $others[($roll >> 8) % count($others)];
        $to->command('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->command('CLUSTER', 'MYID'));
        $from->command('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->command('CLUSTER', 'MYID'));
        $this->migration = fn () => $this->move($slot, $from, $to);
        return $this->complete_migration(...);
    }

    private function move(string $slot, RedisServer $from, RedisServer $to): void
    {
        while (($keys = $from->command('CLUSTER', 'GETKEYSINSLOT', $slot, '10')) !== []) {
            $from->command('MIGRATE', '127.0.0.1', (string) $to->port, '', '0', '5000', 'KEYS', ...$keys);
        }
        $id = $to->command('CLUSTER', 'MYID');
        $to->command('CLUSTER', 'SETSLOT', $slot, 'NODE', $id);
        $from->command('CLUSTER', 'SETSLOT', $slot, 'NODE', $id);
        $this->wait_for_agreement();
    }

    private function complete_migration(): void
    {
        $this->go_on();
        [$migration, $this->migration] = [$this->migration, null];
        $migration && $migration();
    }

    /** Adds a primary without slots. Later migrations move slots to it. */
    private function add(): bool
    {
        if (count($this->nodes) > 6) {
            return false;
        }
        $node = start_cluster_node($this->options());
        $this->nodes[] = $node;
        meet($node, $this->nodes[0]);
        wait_for('the cluster knows a new server', fn () => str_contains($node->command('CLUSTER', 'INFO'), 'cluster_state:ok'));
        return true;
    }
}

/** A cluster that keeps all buckets in one slot, so that a batch is one script. */
class RedisClusterTagSubject extends RedisClusterSubject
{
    protected function prefix(): string
    {
        return 'tokenbucket:{tag}:';
    }
}

/** A ring of three servers, one of which forgets its buckets at a time. */
final class RedisRingSubject extends RedisFleetSubject
{
    /** @var list<RedisServer> */
    private array $servers;

    protected function start(): void
    {
        $this->servers = array_map(fn () => RedisServer::start(), range(1, 3));
    }

    protected function servers(): array
    {
        return $this->servers;
    }

    protected function storage(): array
    {
        $servers = implode(',', array_map(fn (RedisServer $server) => "127.0.0.1:$server->port", $this->servers));
        return ['class' => 'TokenBucketStorageRedis', 'arguments' => [
            'dsn' => "redis+ring://$servers/0?weights=1,2,1", 'onFailure' => 'Throw', 'denialCacheMaxAge' => 0.1,
        ]];
    }

    protected function store_faults(): array
    {
        return [
            'server stopped' => [0.5, fn (Trial $trial, int $roll, int $milliseconds) => $this->stopped($this->servers[$roll % 3])[1]($trial, $roll, $milliseconds)],
            'connections cut' => [0.5, fn () => $this->cut(...$this->servers)],
        ];
    }

    public function losses(): array
    {
        return [
            'server killed' => fn () => $this->servers[mt_rand(0, 2)]->restart(),
            'server emptied' => function () {
                $this->go_on();
                $this->servers[mt_rand(0, 2)]->command('FLUSHALL');
            },
        ];
    }
}

/** A primary with two replicas, and three sentinels. */
class RedisSentinelSubject extends RedisFleetSubject
{
    /** The milliseconds without a reply after which sentinels replace a primary. */
    private const DOWN_AFTER = 1_000;

    /** @var list<RedisServer> */
    protected array $redis;
    /** @var list<SentinelServer> */
    protected array $sentinels;

    protected function start(): void
    {
        $this->redis = array_map(fn () => RedisServer::start(['--repl-diskless-sync-delay', '0']), range(1, 3));
        [$primary, $first, $second] = $this->redis;
        foreach ([$first, $second] as $replica) {
            $replica->command('REPLICAOF', '127.0.0.1', (string) $primary->port);
        }
        $this->sentinels = array_map(fn () => SentinelServer::of($primary, self::DOWN_AFTER), range(1, 3));
        $this->wait_for_sentinels();
    }

    protected function servers(): array
    {
        return [...$this->sentinels, ...$this->redis];
    }

    protected function storage(): array
    {
        $sentinels = implode(',', array_map(fn (RedisServer $server) => "127.0.0.1:$server->port", $this->sentinels));
        return ['class' => 'TokenBucketStorageRedis', 'arguments' => [
            'dsn' => "redis+sentinel://$sentinels/" . SentinelServer::PRIMARY, 'onFailure' => 'Throw', 'denialCacheMaxAge' => 0.1,
        ]];
    }

    protected function store_faults(): array
    {
        return [
            'primary stopped' => [0.5, fn (mixed ...$with) => $this->stopped($this->primary())[1](...$with)],
            'sentinel stopped' => [0.3, fn (Trial $trial, int $roll, int $milliseconds) => $trial->stop($milliseconds, $this->sentinels[$roll % 3]->pid)],
            'sentinel killed' => [0.2, fn (Trial $trial, int $roll) => $this->sentinels[$roll % 3]->restart()],
            'connections cut' => [0.5, fn () => $this->cut($this->primary(), ...$this->sentinels)],
        ];
    }

    public function losses(): array
    {
        return ['primary killed' => $this->replace(...)];
    }

    protected function primary(): RedisServer
    {
        $this->go_on();
        $port = $this->sentinels[0]->primary();
        return current(array_filter($this->redis, fn (RedisServer $server) => $server->port === $port));
    }

    /**
     * Kills the primary and waits until a replica has replaced it. Returns a function that restarts
     * the old primary, which acts as a primary until the sentinels make it a replica.
     */
    private function replace(): callable
    {
        $primary = $this->primary();
        $primary->kill();
        $is_replaced = fn (SentinelServer $sentinel) => $sentinel->primary() !== $primary->port;
        wait_for('the sentinels promote a replica', fn () => array_filter($this->sentinels, $is_replaced) === $this->sentinels, 20);
        return function () use ($primary): void {
            $primary->restart();
            $this->wait_for_sentinels();
        };
    }

    /** Waits until all sentinels know each other and two replicas that are in sync. */
    protected function wait_for_sentinels(): void
    {
        $is_ready = function (SentinelServer $sentinel): bool {
            $words = $sentinel->command('SENTINEL', 'MASTER', SentinelServer::PRIMARY);
            $state = array_column(array_chunk($words, 2), 1, 0);
            $replicas = $sentinel->command('SENTINEL', 'REPLICAS', SentinelServer::PRIMARY);
            $links = array_filter($replicas, fn (array $words) => array_column(array_chunk($words, 2), 1, 0)['master-link-status'] === 'ok');
            return $state['num-other-sentinels'] === '2' && count($links) === 2;
        };
        wait_for('the sentinels are ready', fn () => count(array_filter($this->sentinels, $is_ready)) === 3, 30);
    }
}

/**
 * Sentinels that promote a replica while the old primary works. Until the sentinels make the old
 * primary a replica, workers that are connected to it still use it. So the bound is doubled.
 */
class RedisSentinelFailoverSubject extends RedisSentinelSubject
{
    public function load(): array
    {
        // There are no refunds, resets, charges and blocks, because it is unknown which of the two
        // buckets they change.
        return ['refunds' => 0, 'resets' => 0, 'charges' => 0] + self::PLAIN + parent::load();
    }

    protected function allowances(): array
    {
        return ['buckets' => 2] + parent::allowances();
    }

    public function losses(): array
    {
        return ['replica promoted' => function (): callable {
            $primary = $this->primary();
            $this->sentinels[0]->command('SENTINEL', 'FAILOVER', SentinelServer::PRIMARY);
            wait_for('the sentinels promote a replica', fn () => $this->sentinels[0]->primary() !== $primary->port, 20);
            return fn () => wait_for('the old primary is a replica', fn () => $primary->command('ROLE')[0] === 'slave', 30);
        }];
    }
}

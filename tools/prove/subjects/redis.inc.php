<?php
/** A Redis primary and its replica behind an unreliable connection. */
class RedisSubject extends Subject
{
    protected const DENIAL_CACHE = true;

    protected readonly Proxy $proxy;
    private RedisServer $primary;
    private RedisServer $replica;

    public function __construct()
    {
        parent::__construct();
        $this->primary = $this->server();
        $this->replica = $this->server(['--repl-diskless-sync-delay', '0']);
        $this->replica->command('REPLICAOF', '127.0.0.1', (string) $this->primary->port);
        $this->proxy = new Proxy("unix://{$this->primary->socket}", $this->watcher());
        // php-fpm uses another segment, so that it acts as another host with its own denial cache
        // and breakers.
        $this->fpm = $this->start_fpm();
    }

    /** Returns a watcher of the connections. */
    protected function watcher(): ?Watcher
    {
        return null;
    }

    /** Starts a server. */
    protected function server(array $options = []): RedisServer
    {
        return RedisServer::start($options);
    }

    protected function storage(): array
    {
        return ['class' => 'TokenBucketStorageRedis', 'arguments' => [
            'dsn' => "redis://127.0.0.1:{$this->proxy->port}", 'onFailure' => 'Throw', 'denialCacheMaxAge' => 0.1,
        ]];
    }

    protected function allowances(): array
    {
        // A request sent before a suspension of up to 244 ms takes effect after the suspension.
        // Cached denials are at most a tenth of a second old.
        return ['tick' => 1_000, 'linger' => 500_000_000, 'cached' => 110_000_000];
    }

    protected function store_faults(): array
    {
        return [
            // The server is looked up at each fault, because the primary changes.
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

/** Batches of buckets on Redis and in shared memory. */
final class RedisAndMemorySubject extends RedisSubject
{
    protected function with_fpm(): bool
    {
        // php-fpm would be another host, with other buckets in shared memory.
        return false;
    }

    public function load(): array
    {
        $here = array_map(fn (array $bucket) => [$bucket[0] + 20, ...array_slice($bucket, 1), 'here' => true], self::SHARED);
        $load = parent::load();
        return ['shared' => [...$load['shared'], ...$here], 'batches' => 2] + $load;
    }
}

/**
 * Redis under the default policy. While Redis fails, calls fall back to the host's buckets. So on
 * one host the bound is doubled.
 */
class RedisLocalSubject extends RedisSubject
{
    public int $workers = 5;

    protected function with_fpm(): bool
    {
        return false;
    }

    public function load(): array
    {
        // There are no refunds, resets, charges and blocks, because it is unknown which of the two
        // buckets they change.
        return ['refunds' => 0, 'resets' => 0, 'charges' => 0] + self::PLAIN + parent::load();
    }

    protected function ini(): array
    {
        // Any output of a worker fails the trial.
        return ['tokenbucket.failure_report' => 'none'] + parent::ini();
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

/** A Redis server whose wall clock is wrong. */
final class WrongRedisServer extends RedisServer
{
    /** @var list<string> the settings of libfaketime of the next server */
    private static array $next = [];
    /** @var ?list<string> */
    private ?array $clock = null;

    public static function ahead_by(int $seconds, array $options = []): self
    {
        self::$next = [sprintf('FAKETIME=%+d', $seconds)];
        return self::start($options);
    }

    /** Starts a server that reads the error of its clock from a file. */
    public static function by(string $file, array $options = []): self
    {
        self::$next = ["FAKETIME_TIMESTAMP_FILE=$file", 'FAKETIME_NO_CACHE=1', 'FAKETIME_DONT_RESET=1'];
        return self::start($options);
    }

    protected function arguments(int $port): array
    {
        $this->clock ??= self::$next;
        // The allocator of Redis reads the clock while libfaketime starts, and would wait for ever.
        // So the allocator of libc comes first.
        [$allocator] = glob('/usr/lib/*/libc_malloc_debug.so.0');
        [$library] = glob('/usr/lib/*/faketime/libfaketime.so.1');
        $clock = ["LD_PRELOAD=$allocator:$library", 'FAKETIME_DONT_FAKE_MONOTONIC=1', ...$this->clock];
        return ['env', ...$clock, ...parent::arguments($port)];
    }
}

/**
 * Redis servers whose clock is ahead of this host's clock, or behind it, by a whole number of
 * windows of a minute. So the windows start at the instants that the judge knows.
 */
final class RedisClockSubject extends RedisSubject
{
    public function __construct(private readonly int $minutes)
    {
        parent::__construct();
    }

    protected function server(array $options = []): RedisServer
    {
        return WrongRedisServer::ahead_by(60 * $this->minutes, $options);
    }
}

<?php
/** Buckets in a named segment that php-fpm and the command line share. */
class SharedMemorySubject extends Subject
{
    public function __construct()
    {
        parent::__construct();
        // If root starts php-fpm, its workers run as another user and must open the segment.
        chmod($this->folder, 0755);
        $this->fpm = $this->start_fpm($this->ini());
    }

    public function load(): array
    {
        // A call takes less time than noting the call. Without a pause the logs would fill the
        // disk.
        return ['pause' => 60] + parent::load();
    }

    protected function ini(): array
    {
        return ['tokenbucket.shm_mode' => '0666'] + parent::ini();
    }

    protected function storage(): array
    {
        return ['class' => 'TokenBucketStorageSharedMemory', 'arguments' => []];
    }

    protected function allowances(): array
    {
        return ['tick' => 1];
    }

    protected function store_faults(): array
    {
        return [];
    }
}

/**
 * A table with fewer slots than buckets. Calls on buckets without a slot are denied as
 * "table_full".
 */
class FullTableSubject extends SharedMemorySubject
{
    protected const FULL = 'refuse';
    protected const SHARED = [];
    protected const OWN = [3, 10];
    protected const BUCKETS = 400;

    protected function with_fpm(): bool
    {
        return false;
    }

    public function load(): array
    {
        $buckets = array_map(fn (int $id) => [1_000 + $id, ...static::OWN], range(0, static::BUCKETS - 1));
        return ['shared' => $buckets] + parent::load();
    }

    protected function ini(): array
    {
        return ['tokenbucket.shm_size' => '4K', 'tokenbucket.shm_full' => static::FULL] + parent::ini();
    }
}

/**
 * Workers die at the marked steps of the slot protocol, in a table whose slots are reused all the
 * time.
 */
class DyingSubject extends FullTableSubject
{
    protected const BUCKETS = 300;
    public const DIES = true;
    /**
     * A worker dies at one in this many marked steps on a live bucket. Claims are rarer, so a
     * worker dies at a greater share of the marked steps of a claim.
     */
    private const ONE_IN = 1_500;

    public function command(int $slot): string
    {
        $command = self::with_module(parent::command($slot), getenv('PROVE_DYING'));
        return 'env TOKENBUCKET_DEATHS=' . self::ONE_IN . " $command";
    }
}

/** A table that is sometimes full and then evicts the bucket that is nearest to full. */
class EvictingTableSubject extends FullTableSubject
{
    protected const FULL = 'evict';
    protected const BUCKETS = 190;

    public function load(): array
    {
        // An eviction may have returned the tokens of a reservation before its cancel. An eviction
        // also ends blocks, windows and lockouts.
        return ['cancellers' => 0] + self::PLAIN + parent::load();
    }

    protected function allowances(): array
    {
        $counted = json_decode(php_run('echo json_encode(TokenBucket\status()["shared_memory"]);', $this->ini()), true);
        // All buckets have the same rate, so the evicted seconds convert to tokens.
        return ['evicted' => (int) ceil($counted['evicted_seconds'] * static::OWN[1] * 1000)] + parent::allowances();
    }
}

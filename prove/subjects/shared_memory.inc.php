<?php
/** Buckets in a named segment that php-fpm and the command line share. */
class SharedMemorySubject extends Subject
{
    private readonly string $folder;

    public function __construct()
    {
        $this->folder = temporary_folder();
        // Workers of php-fpm are another user's where root starts it.
        chmod($this->folder, 0755);
        $this->fpm = $this->with_fpm() ? $this->start_fpm($this->ini()) : null;
    }

    protected function with_fpm(): bool
    {
        return true;
    }

    public function load(): array
    {
        // A call takes less than noting it; without a pause the logs would fill the disk.
        return ['pause' => 60] + parent::load();
    }

    protected function ini(): array
    {
        return ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.shm_mode' => '0666', 'tokenbucket.shm_size' => '1M'];
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

/** More buckets than the table has slots: those that find none are denied, and say so. */
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

/** Workers die at the marked steps of the slot protocol, in a table in which slots change hands all the time. */
class DyingSubject extends FullTableSubject
{
    protected const BUCKETS = 300;
    public const DIES = true;
    /** A worker dies at one of so many steps on a live bucket; claims are rarer, and deaths in them likelier. */
    private const ONE_IN = 1_500;

    public function command(int $slot): string
    {
        $command = str_replace('extension=' . dirname(__DIR__, 2) . '/modules/tokenbucket.so', 'extension=' . getenv('PROVE_DYING'), parent::command($slot), $count);
        if ($count !== 1) {
            throw new RuntimeException("another extension than this tree's: $command");
        }
        return 'env TOKENBUCKET_DEATHS=' . self::ONE_IN . " $command";
    }
}

/** A table that is full now and then, and forgets the bucket that is nearest to full. */
class EvictingTableSubject extends FullTableSubject
{
    protected const FULL = 'evict';
    protected const BUCKETS = 190;

    protected function allowances(): array
    {
        $counted = json_decode(php_run('echo json_encode(TokenBucket\status()["shared_memory"]);', $this->ini()), true);
        // All buckets have one rate, so seconds are tokens.
        return ['evicted' => (int) ceil($counted['evicted_seconds'] * static::OWN[1] * 1000)] + parent::allowances();
    }
}

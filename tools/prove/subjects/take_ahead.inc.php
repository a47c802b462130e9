<?php
require_once __DIR__ . '/redis.inc.php';

/**
 * Hosts that keep the next place in the queue of a bucket on Redis. Each host is a segment with
 * three workers.
 */
class TakeAheadSubject extends RedisSubject
{
    /** Every bucket needs the denial cache. */
    protected const DENIAL_CACHE = false;
    /** The workers use up all of these buckets but the last one. Odd ones get no refunds. */
    protected const SHARED = [[0, 20, 200], [1, 10, 40], [3, 10, 100], [5, 400, 8000]];
    protected const HOSTS = 4;
    /** The seconds by which a token is taken ahead at most. */
    protected const TAKE_AHEAD = 0.3;

    public int $workers = 3 * self::HOSTS;
    protected readonly string $segments;

    public function __construct()
    {
        $this->segments = temporary_folder();
        parent::__construct();
        $this->fpm?->stop();
        $this->fpm = null;
    }

    public function command(int $slot): string
    {
        $host = $slot % self::HOSTS;
        return php_command(['tokenbucket.shm_path' => "$this->segments/segment$host", 'tokenbucket.shm_size' => '1M']);
    }

    public function load(): array
    {
        // A denial takes less time than noting the call. A batch goes to the store, and its
        // give-back depends on places that the judge does not know.
        return ['hosts' => self::HOSTS, 'pause' => 60, 'costs' => 2, 'own' => [], 'batches' => 0, 'others' => []] + parent::load();
    }

    /** Counts the places that were used, because a trial without them proves nothing. */
    public function finish(string $folder): void
    {
        $count = escapeshellarg('echo TokenBucket\status()["remote"]["used_ahead"];');
        $counts = array_map(fn (int $host) => (int) shell_exec($this->command($host) . " -r $count"), range(0, self::HOSTS - 1));
        echo 'Places used by each host: ', implode(', ', $counts), "\n";
        if (array_sum($counts) < 10) {
            throw new RuntimeException('too few places were used');
        }
    }

    protected function storage(): array
    {
        $storage = parent::storage();
        $storage['arguments']['takeAhead'] = self::TAKE_AHEAD;
        return $storage;
    }

    protected function allowances(): array
    {
        // The rates of two clocks differ by at most a thousandth.
        return ['ahead' => (int) (2.002e9 * self::TAKE_AHEAD)] + parent::allowances();
    }
}

/** The same hosts in calms, in which no bucket is used up, and in storms, in which they are. */
class TakeAheadStormSubject extends TakeAheadSubject
{
    public const LOSSES = 0.03;
    /** The first bucket is used up in storms only, the second one always. */
    protected const SHARED = [[7, 280, 1000], [6, 20, 200]];

    public function load(): array
    {
        return ['calm' => 1_500, 'costs' => 1] + parent::load();
    }
}

/** The same with a server whose wall clock is set forward and back. */
final class TakeAheadClockSubject extends TakeAheadStormSubject
{
    /** The greatest error of the clock in microseconds. */
    private const EPSILON = 5_000;

    protected function server(array $options = []): RedisServer
    {
        set_clock("$this->segments/clock", 0);
        return WrongRedisServer::by("$this->segments/clock", $options);
    }

    protected function allowances(): array
    {
        return ['skew' => 2_000 * self::EPSILON] + parent::allowances();
    }

    protected function store_faults(): array
    {
        $step = fn (int $roll) => $roll % (2 * self::EPSILON + 1) - self::EPSILON;
        return [
            'clock stepped' => [3, fn (Trial $trial, int $roll) => set_clock("$this->segments/clock", $step($roll))],
        ] + parent::store_faults();
    }
}

<?php
require_once __DIR__ . '/redis.inc.php';

/**
 * Notes the takes that a Redis grants, because a host may use the tokens later, or never. Other
 * scripts are those of calls whose callers note all that is taken.
 */
final class TakeWatcher implements Watcher
{
    private readonly CallLog $log;
    /**
     * @var array<int, array{int, int, int, int, string}> by client: the instant of a request, the
     *      bucket, the cost and the most microseconds to take ahead, and the reply so far
     */
    private array $open = [];
    /** @var array<int, string> by client: the beginning of a long request */
    private array $begun = [];

    /**
     * @param array<int, int> $rates by bucket
     * @param float $take_ahead the longest wait for a token that is taken ahead, in seconds
     */
    public function __construct(string $folder, private readonly array $rates, private readonly float $take_ahead)
    {
        $this->log = new CallLog($folder, 'stored');
    }

    public function asked(int $client, string $bytes): void
    {
        // A command is the number of its words, and the length of each word before it.
        $request = ($this->begun[$client] ?? '') . $bytes;
        $lines = explode("\r\n", $request);
        if (count($lines) < 2 * (int) substr($lines[0], 1) + 2) {
            $this->begun[$client] = $request;
            return;
        }
        unset($this->begun[$client]);
        $words = array_map(fn (int $word) => $lines[2 * $word + 2], range(0, intdiv(count($lines), 2) - 2));
        if (!str_starts_with($words[0], 'EVAL') || preg_match('/b(\d+)$/', $words[3], $bucket) !== 1) {
            return;
        }
        $numbers = array_slice($words, 4);
        $wait = (string) (int) ($this->take_ahead * 1e6);
        $takes = match (count($numbers)) {
            3 => is_numeric($numbers[0]),
            // The two numbers of a slice.
            5 => is_numeric($numbers[0]) && is_numeric($numbers[4]),
            default => ($numbers[5] ?? '') === $wait && $numbers[6] === '0',
        };
        if ($takes) {
            $extra = count($numbers) === 5 ? (int) $numbers[3] : 0;
            $this->open[$client] = [hrtime(true), (int) $bucket[1], (int) $numbers[0], $extra, ''];
        }
    }

    public function answered(int $client, string $bytes): void
    {
        if (!isset($this->open[$client])) {
            return;
        }
        $this->open[$client][4] .= $bytes;
        if (preg_match('/^\*(\d+)((?:\r\n:\d+)*)\r\n$/', $this->open[$client][4], $found) === 1) {
            $numbers = explode("\r\n:", $found[2]);
            if (count($numbers) > (int) $found[1]) {
                $this->note($client, (int) $numbers[1] % 2 === 1, (int) ($numbers[4] ?? 0), (int) $numbers[1] >= 2 * (int) $numbers[2] + 2);
            }
        } elseif (str_starts_with($this->open[$client][4], '-')) {
            unset($this->open[$client]);
        }
    }

    public function ended(int $client): void
    {
        unset($this->begun[$client]);
        if (isset($this->open[$client])) {
            [, , , $extra] = $this->open[$client];
            $this->note($client, null, $extra, true);
        }
    }

    /** @param ?bool $granted null if the reply is not known */
    private function note(int $client, ?bool $granted, int $extra, bool $waits): void
    {
        [$from, $bucket, $cost] = $this->open[$client];
        unset($this->open[$client]);
        if ($granted !== false) {
            $keep = $waits || $extra > 0 ? 2.002 * $this->take_ahead : 0;
            $this->log->stored($from, hrtime(true), $bucket, ($cost + $extra) * $this->rates[$bucket] / 1e6, $keep, $granted === true);
        }
    }
}

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

    protected function with_fpm(): bool
    {
        return false;
    }

    protected function watcher(): ?Watcher
    {
        return new TakeWatcher($this->folder, array_column(static::SHARED, 2, 0), static::TAKE_AHEAD);
    }

    public function command(int $slot): string
    {
        $host = $slot % self::HOSTS;
        return php_command(['tokenbucket.shm_path' => "$this->folder/segment$host"] + $this->ini());
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
        array_map(fn (string $file) => copy($file, "$folder/" . basename($file)), glob("$this->folder/*.log"));
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
        $storage['arguments']['takeAhead'] = static::TAKE_AHEAD;
        return $storage;
    }

    protected function allowances(): array
    {
        // The rates of two clocks differ by at most a thousandth.
        return ['ahead' => (int) (2.002e9 * static::TAKE_AHEAD)] + parent::allowances();
    }
}

/** The same hosts in calms, in which no bucket is used up, and in storms, in which they are. */
class TakeAheadStormSubject extends TakeAheadSubject
{
    public const LOSSES = 0.03;
    /** The first bucket must hold more than the rate adds in twice this time. */
    protected const TAKE_AHEAD = 0.1;
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
        set_clock("$this->folder/clock", 0);
        return WrongRedisServer::by("$this->folder/clock", $options);
    }

    protected function allowances(): array
    {
        return ['skew' => 2_000 * self::EPSILON] + parent::allowances();
    }

    protected function store_faults(): array
    {
        $step = fn (int $roll) => $roll % (2 * self::EPSILON + 1) - self::EPSILON;
        return [
            'clock stepped' => [3, fn (Trial $trial, int $roll) => set_clock("$this->folder/clock", $step($roll))],
        ] + parent::store_faults();
    }
}

<?php
/**
 * Runs a worker of a campaign, which calls a limiter in a loop. The worker notes each call, so that
 * the log is complete even if the worker is killed in a call.
 *
 * The command is php worker.php LOAD NUMBER SEED, where NUMBER is the worker's number. Under
 * php-fpm the query holds the same values, and a request lasts for `milliseconds`. Trial::run()
 * writes the file LOAD.
 */

/**
 * Writes the records that prove/src/record.rs reads. That file explains why the records survive
 * kill -9.
 */
final class CallLog
{
    public const TAKE = 0;
    public const REFUND = 1;
    public const RESET = 2;
    public const LOST = 3;

    public const DONE = 1;
    public const DENIED = 2;
    public const EXCUSED = 3;
    public const ERROR = 4;
    public const UNASKED = 5;

    private const START = 0;
    private const END = 1;
    private const DEATH = 2;

    /** @var resource */
    private $file;
    private int $sequence = 0;

    public function __construct(string $folder, string|int $process)
    {
        // The file is opened for appending. PHP does not buffer writes to plain files, so each
        // fwrite() is one write().
        $this->file = fopen("$folder/$process." . hrtime(true) . '.log', 'a');
    }

    public function start(int $kind, int $bucket, float $cost = 0, ?int $time = null): void
    {
        $this->write($time ?? hrtime(true), $bucket, $cost, self::START, $kind, 0, 0);
    }

    /** @param int $time the instant right after the call */
    public function end(int $time, int $kind, int $bucket, int $answer, float $retry_after = 0): void
    {
        $nanoseconds = is_infinite($retry_after) ? -1 : (int) ceil($retry_after * 1e9);
        $this->write($time, $bucket, 0, self::END, $kind, $answer, $nanoseconds);
        $this->sequence++;
    }

    public function death(int $process): void
    {
        $this->write(hrtime(true), $process, 0, self::DEATH, 0, 0, 0);
    }

    private function write(int $time, int $bucket, float $cost, int $phase, int $kind, int $answer, int $retry_after): void
    {
        fwrite($this->file, pack('PVVCCCxVP', $time, $bucket, (int) round($cost * 1000), $phase, $kind, $answer, $this->sequence, $retry_after));
    }
}

/** The limiter that is judged: the extension's class on one of its storages. */
final class Extension
{
    /**
     * @var array<int, TokenBucketStorage> the storages with (1) and without (0) the denial cache
     */
    private array $storages = [];
    /** @var array<int, TokenBucket> */
    private array $buckets = [];

    public function __construct(private readonly array $storage_of)
    {
    }

    /** @return array{int, float} the result as a constant of CallLog, and the seconds to wait */
    public function take(array $bucket, float $cost): array
    {
        $decision = $this->bucket($bucket)->attempt($cost);
        return match ($decision->reason) {
            'granted' => [CallLog::DONE, 0],
            'insufficient_tokens' => [CallLog::DENIED, $decision->retryAfter],
            // The other reasons are 'contended' and 'table_full', which the extension counts.
            default => [CallLog::EXCUSED, $decision->retryAfter],
        };
    }

    public function refund(array $bucket, float $cost): void
    {
        $this->bucket($bucket)->refund($cost);
    }

    public function reset(array $bucket): void
    {
        $this->bucket($bucket)->reset();
    }

    /** Returns UNASKED if the exception proves that the store was not contacted, or else ERROR. */
    public function failed(Throwable $error): int
    {
        if (isset($this->storage_of['pdo'])) {
            // PDO does not reconnect by itself, so the next call makes a new connection.
            $this->storages = [];
            $this->buckets = [];
        }
        return preg_match('/its breaker is open|cannot connect/', $error->getMessage()) ? CallLog::UNASKED : CallLog::ERROR;
    }

    private function bucket(array $bucket): TokenBucket
    {
        [$id, $capacity, $rate, $hints] = [...$bucket, true];
        return $this->buckets[$id] ??= new TokenBucket($this->storages[$hints] ??= $this->storage($hints), "b$id", $capacity, $rate);
    }

    private function storage(bool $hints): TokenBucketStorage
    {
        ['class' => $class, 'arguments' => $arguments] = $this->storage_of;
        if (isset($arguments['onFailure'])) {
            $arguments['onFailure'] = constant('TokenBucket\OnFailure::' . $arguments['onFailure']);
        }
        if (!$hints) {
            $arguments['hints'] = false;
        }
        if (isset($this->storage_of['pdo'])) {
            $db = new PDO(...$this->storage_of['pdo']);
            foreach ($this->storage_of['statements'] ?? [] as $statement) {
                $db->exec($statement);
            }
            array_unshift($arguments, $db);
        }
        return new $class(...$arguments);
    }
}

/**
 * Calls the limiter in a loop. It calls the worker's own bucket when the stated wait is over, and
 * random shared buckets otherwise.
 */
final class Load
{
    /** @var array<int, int> the granted tokens that may be given back, by bucket */
    private array $granted = [];
    /** The time of the next call on the worker's own bucket, in nanoseconds. */
    private int $due = 0;

    public function __construct(
        private readonly object $limiter,
        private readonly CallLog $log,
        private readonly array $load,
        private readonly int $slot,
    ) {
    }

    public function run(int $end): void
    {
        while (($now = hrtime(true)) < $end) {
            $own = $this->load['own'][$this->slot] ?? null;
            // About one pass in 41 calls the own bucket before the wait is over.
            if ($own !== null && ($now >= $this->due || mt_rand(0, 40) === 0)) {
                $wait = $this->take($own, 1);
                $this->due = hrtime(true) + (int) ceil(min($wait, 10) * 1e9);
            } else {
                $this->ask($this->load['shared'][array_rand($this->load['shared'])]);
            }
            if ($this->load['pause'] > 0 && mt_rand(0, 3) === 0) {
                usleep(mt_rand(0, 8 * $this->load['pause']));
            }
        }
    }

    private function ask(array $bucket): void
    {
        $id = $bucket[0];
        $granted = $this->granted[$id] ?? 0;
        if ($granted > 0 && $this->one_in($this->load['refunds'])) {
            $cost = mt_rand(1, min($granted, 3));
            $this->granted[$id] -= $cost;
            $this->give(CallLog::REFUND, $id, $cost, fn () => $this->limiter->refund($bucket, $cost));
        } elseif ($this->one_in($this->load['resets'])) {
            $this->give(CallLog::RESET, $id, 0, fn () => $this->limiter->reset($bucket));
        } else {
            $this->take($bucket, mt_rand(1, min($this->load['costs'], $bucket[1])));
        }
    }

    /** Takes tokens and notes the call. Returns the seconds to wait. */
    private function take(array $bucket, int $cost): float
    {
        $this->log->start(CallLog::TAKE, $bucket[0], $cost);
        try {
            [$answer, $retry_after] = $this->limiter->take($bucket, $cost);
            $time = hrtime(true);
        } catch (Exception $error) {
            [$time, $answer, $retry_after] = [hrtime(true), $this->limiter->failed($error), 0.002];
        }
        $this->log->end($time, CallLog::TAKE, $bucket[0], $answer, $retry_after);
        if ($answer === CallLog::DONE) {
            $this->granted[$bucket[0]] = ($this->granted[$bucket[0]] ?? 0) + $cost;
        } elseif ($answer >= CallLog::ERROR) {
            usleep(2_000);
        }
        return $retry_after;
    }

    private function give(int $kind, int $id, float $cost, callable $call): void
    {
        $this->log->start($kind, $id, $cost);
        try {
            $call();
            [$time, $answer] = [hrtime(true), CallLog::DONE];
        } catch (Exception $error) {
            [$time, $answer] = [hrtime(true), $this->limiter->failed($error)];
        }
        $this->log->end($time, $kind, $id, $answer);
    }

    private function one_in(int $chance): bool
    {
        return $chance > 0 && mt_rand(1, $chance) === 1;
    }
}

// The campaign includes this file only for CallLog.
if (basename($_SERVER['SCRIPT_FILENAME']) === 'worker.php') {
    [$load, $slot, $seed] = isset($_GET['load']) ? [$_GET['load'], $_GET['slot'], $_GET['seed']] : array_slice($argv, 1, 3);
    // The extension raises a warning at the first failure of an outage. Any other output of PHP
    // fails the trial.
    set_error_handler(fn (int $level, string $said) => str_contains($said, 'using shared memory of this host'));
    $load = json_decode(file_get_contents($load), true);
    mt_srand((int) $seed);
    if (isset($load['control'])) {
        require_once __DIR__ . '/controls.inc.php';
        $limiter = new $load['control']($load);
    } else {
        $limiter = new Extension($load['storage']);
    }
    $end = isset($_GET['milliseconds']) ? min($load['end'], hrtime(true) + 1_000_000 * (int) $_GET['milliseconds']) : $load['end'];
    (new Load($limiter, new CallLog($load['logs'], getmypid()), $load, (int) $slot))->run($end);
    echo 'done';
}

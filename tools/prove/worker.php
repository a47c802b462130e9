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
 * Writes the lines that src/record.rs reads. That file explains why the lines survive kill -9, and
 * docs/explanation/proof.md describes them.
 */
final class CallLog
{
    public const TAKE = 0;
    public const REFUND = 1;
    public const RESET = 2;
    public const LOST = 3;
    public const CHARGE = 4;
    public const RESERVE = 5;
    public const CANCEL = 6;
    public const DRAIN = 7;
    public const STORED = 8;

    public const DONE = 1;
    public const DENIED = 2;
    public const EXCUSED = 3;
    public const ERROR = 4;
    public const UNASKED = 5;
    public const UNDONE = 6;

    /** The words of the kinds and of the answers. */
    private const KINDS = ['take', 'refund', 'reset', 'lost', 'charge', 'reserve', 'cancel', 'drain', 'stored'];
    private const ANSWERS = [1 => 'done', 'denied', 'excused', 'error', 'unsent', 'undone'];

    /** @var resource */
    private $file;
    private int $sequence = 0;

    public function __construct(string $folder, string|int $process)
    {
        // The file is opened for appending. PHP does not buffer writes to plain files, so each
        // fwrite() is one write().
        $this->file = fopen("$folder/$process." . hrtime(true) . '.log', 'a');
        fwrite($this->file, 'caller ' . (int) $process . "\n");
    }

    /**
     * Notes the instant before a call.
     *
     * @param float $wait the longest wait of a reservation, or the time of a block, in seconds
     * @return int the sequence of the call
     */
    public function start(int $kind, int $bucket, float $cost = 0, float $wait = 0): int
    {
        return $this->begin($kind, $bucket, $cost, hrtime(true), self::nanoseconds($wait));
    }

    /** Notes the instant before a take with a floor. Returns the sequence of the call. */
    public function start_take(int $bucket, float $cost, float $floor, ?int $time = null): int
    {
        return $this->begin(self::TAKE, $bucket, $cost, $time ?? hrtime(true), (int) round($floor * 1000));
    }

    /** Notes the instant before the cancel of a reservation. Returns the sequence of the call. */
    public function start_cancel(int $bucket, float $cost, int $reservation): int
    {
        return $this->begin(self::CANCEL, $bucket, $cost, hrtime(true), $reservation);
    }

    /**
     * Notes a take that the store has granted, or may have granted.
     *
     * @param float $keep the seconds for which a host may keep the tokens
     */
    public function stored(int $from, int $to, int $bucket, float $tokens, float $keep, bool $granted): void
    {
        $sequence = $this->begin(self::STORED, $bucket, $tokens, $from, self::nanoseconds($keep));
        $this->end($to, $sequence, $granted ? self::DONE : self::ERROR);
    }

    /**
     * @param int $time the instant right after the call
     * @param float $wait the seconds to retry or until a reservation is due
     */
    public function end(int $time, int $sequence, int $answer, float $wait = 0): void
    {
        fwrite($this->file, "$time " . self::ANSWERS[$answer] . " $sequence " . self::nanoseconds($wait) . "\n");
    }

    /** Notes the host of this process. */
    public function host(int $process, int $host): void
    {
        fwrite($this->file, "host $process $host\n");
    }

    public function death(int $process): void
    {
        fwrite($this->file, hrtime(true) . " death $process\n");
    }

    /** Notes the instant before a process is killed. */
    public function doom(int $process): void
    {
        fwrite($this->file, hrtime(true) . " doom $process\n");
    }

    private function begin(int $kind, int $bucket, float $cost, int $time, int|string $last): int
    {
        $thousandths = (int) round($cost * 1000);
        fwrite($this->file, "$time " . self::KINDS[$kind] . " $this->sequence $bucket $thousandths $last\n");
        return $this->sequence++;
    }

    private static function nanoseconds(float $seconds): int|string
    {
        return is_infinite($seconds) ? 'endless' : (int) ceil($seconds * 1e9);
    }
}

/** The limiter that is judged: the extension's class on one of its storages. */
class Extension
{
    /**
     * @var array<int, TokenBucketStorage> the storages with (1) and without (0) the denial cache
     */
    private array $storages = [];
    /** @var array<int, TokenBucket> the buckets and quotas */
    private array $buckets = [];
    /** @var array<int, TokenBucket\Lockout> */
    private array $lockouts = [];

    public function __construct(private readonly array $storage_of)
    {
    }

    /** @return array{int, float} the result as a constant of CallLog, and the seconds to wait */
    public function take(array $bucket, float $cost, float $floor = 0): array
    {
        return self::answer(is_lockout($bucket) ? $this->lockout($bucket)->attempt() : $this->bucket($bucket)->attempt($cost, $floor));
    }

    /**
     * Takes tokens from all buckets or none.
     *
     * @param array<int, array{array, int, int}> $entries the buckets, their costs and their floors,
     *        by bucket id
     * @return array<int, array{int, float}> the results by bucket id, as of take()
     */
    public function take_all(array $entries): array
    {
        $decision = TokenBucket::attemptAll(array_map(fn (array $entry) => [$this->bucket($entry[0]), $entry[1], $entry[2]], $entries));
        $others = $decision->allowed ? CallLog::DONE : CallLog::UNDONE;
        $answers = array_fill_keys(array_keys($entries), [$others, 0]);
        if (!$decision->allowed) {
            $answers[$decision->refusedBy] = self::answer($decision);
        }
        return $answers;
    }

    /** @return array{int, float} as take() */
    public function charge(array $bucket, float $cost): array
    {
        return self::answer($this->bucket($bucket)->charge($cost));
    }

    /** @return array{int, float} as take() */
    public function settle(array $bucket, float $reserved, float $actual): array
    {
        return self::answer($this->bucket($bucket)->settle($reserved, $actual));
    }

    /**
     * Reserves tokens.
     *
     * @return array{int, float, ?object} as take(), with the delay of a granted reservation, and
     *         the reservation
     */
    public function reserve(array $bucket, float $cost, float $wait): array
    {
        $reservation = $this->bucket($bucket)->reserve($cost, $wait);
        [$answer, $retry_after] = self::answer($reservation->decision);
        return $answer === CallLog::DONE ? [$answer, $reservation->delay, $reservation] : [$answer, $retry_after, null];
    }

    public function cancel(array $bucket, float $cost, object $reservation): void
    {
        $reservation->cancel();
    }

    /** Waits for tokens. The tokens are due before the call ends. @return array{int, float} */
    public function wait(array $bucket, float $cost, float $wait): array
    {
        return self::answer($this->bucket($bucket)->wait($wait, $cost));
    }

    /** @return array{int, float} the result as a constant of CallLog, and the seconds to wait */
    protected static function answer(TokenBucket\Decision $decision): array
    {
        return match ($decision->reason) {
            'granted' => [CallLog::DONE, 0],
            'insufficient_tokens', 'below_floor', 'locked_out' => [CallLog::DENIED, $decision->retryAfter],
            // The other reasons are 'contended' and 'table_full', which the extension counts.
            default => [CallLog::EXCUSED, $decision->retryAfter],
        };
    }

    public function refund(array $bucket, float $cost): void
    {
        $this->bucket($bucket)->refund($cost);
    }

    /** Fills a bucket, or clears a lockout. */
    public function reset(array $bucket): void
    {
        is_lockout($bucket) ? $this->lockout($bucket)->succeed() : $this->bucket($bucket)->reset();
    }

    /** Leaves a bucket at most these tokens, now or at the end of a block. @return array{int, float} */
    public function drain(array $bucket, float $tokens, float $block): array
    {
        return self::answer($block > 0 ? $this->bucket($bucket)->block($block) : $this->bucket($bucket)->drain($tokens));
    }

    /** Returns UNASKED if the exception proves that the store was not contacted, or else ERROR. */
    public function failed(Throwable $error): int
    {
        if (isset($this->storage_of['pdo'])) {
            // PDO does not reconnect by itself, so the next call makes a new connection.
            $this->storages = [];
            $this->buckets = [];
        }
        return failure_of($error);
    }

    protected function bucket(array $bucket): TokenBucket
    {
        [$id, $capacity, $rate, $denialCache] = [...$bucket, true];
        return $this->buckets[$id] ??= is_quota($bucket)
            ? new TokenBucket\Quota($this->home($denialCache), "b$id", $capacity, TokenBucket\Period::Minute, new DateTimeImmutable("@$bucket[anchor]"))
            : new TokenBucket(isset($bucket['here']) ? new TokenBucketStorageSharedMemory : $this->home($denialCache), 'b' . ($bucket['name'] ?? $id), $capacity, $rate);
    }

    private function lockout(array $lockout): TokenBucket\Lockout
    {
        return $this->lockouts[$lockout[0]] ??= new TokenBucket\Lockout($this->home(true), "b$lockout[0]", ...$lockout['lockout']);
    }

    private function home(bool $denialCache): TokenBucketStorage
    {
        return $this->storages[$denialCache] ??= $this->storage($denialCache);
    }

    private function storage(bool $denialCache): TokenBucketStorage
    {
        ['class' => $class, 'arguments' => $arguments] = $this->storage_of;
        if (isset($arguments['onFailure'])) {
            $arguments['onFailure'] = constant('TokenBucket\OnFailure::' . $arguments['onFailure']);
        }
        if (!$denialCache) {
            $arguments['denialCache'] = false;
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

/** Calls a limiter, and notes each call. */
class Caller
{
    public function __construct(public readonly object $limiter, protected readonly CallLog $log)
    {
    }

    /**
     * Takes tokens, or makes an attempt of a lockout.
     *
     * @return array{int, float} the result as a constant of CallLog, and the seconds to wait
     */
    public function take(array $bucket, int $cost = 1, int $floor = 0): array
    {
        $sequence = $this->log->start_take($bucket[0], $cost, $floor);
        return $this->call($sequence, fn () => $this->limiter->take($bucket, $cost, $floor));
    }

    /**
     * Takes tokens from all buckets or none, and notes the call for each of them.
     *
     * @param array<int, array{array, int, int}> $entries as of Extension::take_all()
     * @return array<int, array{int, float}> the results by bucket id, as of take()
     */
    public function take_all(array $entries): array
    {
        $time = hrtime(true);
        $sequences = array_map(fn (array $entry) => $this->log->start_take($entry[0][0], $entry[1], $entry[2], $time), $entries);
        try {
            $answers = $this->limiter->take_all($entries);
            $time = hrtime(true);
        } catch (Exception $error) {
            $time = hrtime(true);
            // The call may have reached the store of another bucket.
            $this->limiter->failed($error);
            $answers = array_fill_keys(array_keys($entries), [CallLog::ERROR, 0]);
        }
        foreach ($answers as $id => [$answer, $wait]) {
            $this->log->end($time, $sequences[$id], $answer, $wait);
        }
        return $answers;
    }

    public function reset(array $bucket): void
    {
        $this->call($this->log->start(CallLog::RESET, $bucket[0]), fn () => $this->limiter->reset($bucket));
    }

    /** Leaves a bucket few tokens, now or at the end of a block. */
    public function drain(array $bucket, float $tokens, float $block = 0): void
    {
        $sequence = $this->log->start(CallLog::DRAIN, $bucket[0], $tokens, $block);
        $this->call($sequence, fn () => $this->limiter->drain($bucket, $tokens, $block));
    }

    public function charge(array $bucket, int $cost): void
    {
        $sequence = $this->log->start(CallLog::CHARGE, $bucket[0], $cost);
        $this->call($sequence, fn () => $this->limiter->charge($bucket, $cost));
    }

    /** @return array{int, float, ?object, int} as Extension::reserve(), and the sequence of the call */
    public function reserve(array $bucket, int $cost, float $wait): array
    {
        $sequence = $this->log->start(CallLog::RESERVE, $bucket[0], $cost, wait: $wait);
        return [...$this->call($sequence, fn () => $this->limiter->reserve($bucket, $cost, $wait)), $sequence];
    }

    public function cancel(array $bucket, int $cost, object $reservation, int $sequence): void
    {
        $sequence = $this->log->start_cancel($bucket[0], $cost, $sequence);
        $this->call($sequence, fn () => $this->limiter->cancel($bucket, $cost, $reservation));
    }

    /**
     * Runs a call and notes its end.
     *
     * @return array{int, float, ?object} the result, the seconds to wait, and the reservation
     */
    protected function call(int $sequence, callable $call): array
    {
        try {
            $answer = $call();
            $time = hrtime(true);
            $answer ??= [CallLog::DONE, 0];
        } catch (Exception $error) {
            $time = hrtime(true);
            $answer = [$this->limiter->failed($error), 0.002];
        }
        $this->log->end($time, $sequence, $answer[0], $answer[1]);
        return $answer + [2 => null];
    }
}

/**
 * Calls the limiter in a loop. It calls the worker's own bucket when the stated wait is over, and
 * random shared buckets otherwise.
 */
final class Load extends Caller
{
    /** @var array<int, int> the granted tokens that may be given back, by bucket */
    private array $granted = [];
    /** @var list<array{array, int, object, int}> bucket, cost, reservation and its sequence */
    private array $held = [];
    /** The time of the next call on the worker's own bucket, in nanoseconds. */
    private int $due = 0;

    public function __construct(
        object $limiter,
        CallLog $log,
        private readonly array $load,
        private readonly int $slot,
    ) {
        parent::__construct($limiter, $log);
    }

    public function run(int $end): void
    {
        while (($now = hrtime(true)) < $end) {
            if (isset($this->load['phases'])) {
                $this->ask_in_phase($now);
                continue;
            }
            $own = $this->load['own'][$this->slot] ?? null;
            // In about one of 41 turns, the worker calls its own bucket before the wait is over.
            if ($own !== null && ($now >= $this->due || mt_rand(0, 40) === 0)) {
                [, $wait] = $this->take($own, 1);
                $this->due = hrtime(true) + (int) ceil(min($wait, 10) * 1e9);
            } elseif ($this->load['others'] !== [] && ($this->load['shared'] === [] || mt_rand(0, 3) === 0)) {
                $this->ask_other($this->load['others'][array_rand($this->load['others'])]);
            } else {
                $this->ask($this->load['shared'][array_rand($this->load['shared'])]);
            }
            if (intdiv(hrtime(true), 1_000_000) % 2_500 < $this->load['calm']) {
                usleep(mt_rand(0, 14_000));
            } elseif ($this->load['pause'] > 0 && mt_rand(0, 3) === 0) {
                usleep(mt_rand(0, 8 * $this->load['pause']));
            }
        }
    }

    /** Calls the limit of the current phase, or pauses. The clock decides, so all workers agree. */
    private function ask_in_phase(int $now): void
    {
        ['length' => $length, 'phases' => $phases] = $this->load;
        $at = intdiv($now, 1_000_000) % $length;
        foreach ($phases as [$from, $to, $limit]) {
            if ($at >= $from && $at < $to) {
                $this->take($this->load['shared'][$limit], mt_rand(1, $this->load['costs']));
                usleep(mt_rand(0, 300));
                return;
            }
        }
        usleep(500);
    }

    private function ask(array $bucket): void
    {
        $id = $bucket[0];
        $granted = $this->granted[$id] ?? 0;
        if ($this->held !== [] && $this->one_in($this->load['hold'])) {
            $this->cancel(...array_splice($this->held, array_rand($this->held), 1)[0]);
        } elseif ($granted > 0 && self::is_refunded($bucket) && $this->one_in($this->load['refunds'])) {
            $cost = mt_rand(1, min($granted, 3));
            $this->granted[$id] -= $cost;
            $this->give(CallLog::REFUND, $bucket, $cost, fn () => $this->limiter->refund($bucket, $cost));
        } elseif (self::is_refunded($bucket) && $this->one_in($this->load['resets'])) {
            $this->reset($bucket);
        } elseif ($this->one_in($this->load['drains'])) {
            $this->drain_somehow($bucket);
        } elseif ($this->one_in($this->load['batches'])) {
            $this->take_several();
        } else {
            $this->take($bucket, ...$this->amount($bucket));
        }
    }

    /** Calls a quota or a lockout. Quotas with even ids get refunds. */
    private function ask_other(array $limit): void
    {
        $granted = $this->granted[$limit[0]] ?? 0;
        if (is_lockout($limit)) {
            $this->one_in($this->load['successes'])
                ? $this->reset($limit)
                : $this->take($limit, 1);
        } elseif ($granted > 0 && self::is_refunded($limit) && $this->one_in($this->load['refunds'])) {
            $this->granted[$limit[0]]--;
            $this->give(CallLog::REFUND, $limit, 1, fn () => $this->limiter->refund($limit, 1));
        } elseif ($this->one_in($this->load['batches'])) {
            $this->take_several($limit);
        } else {
            $this->take($limit, $this->cost($limit));
        }
    }

    /**
     * Returns true for half of the buckets. Only these get refunds and resets, because the judge
     * cannot tell whether a cancel returned too much if other calls gave tokens back meanwhile.
     */
    private static function is_refunded(array $bucket): bool
    {
        return $bucket[0] % 2 === 0;
    }

    private function cost(array $bucket): int
    {
        return mt_rand(1, min($this->load['costs'], $bucket[1]));
    }

    /** @return array{int, int} a cost and a floor */
    private function amount(array $bucket): array
    {
        $floor = !is_quota($bucket) && $this->one_in($this->load['floors']) ? intdiv($bucket[1], 2) : 0;
        return [mt_rand(1, min($this->load['costs'], $bucket[1] - $floor)), $floor];
    }

    public function take(array $bucket, int $cost = 1, int $floor = 0): array
    {
        $answer = parent::take($bucket, $cost, $floor);
        $this->took($bucket, $cost, $answer[0]);
        return $answer;
    }

    /** Takes tokens from the given bucket, if any, and from two or three shared buckets at once. */
    private function take_several(array ...$buckets): void
    {
        foreach ((array) array_rand($this->load['shared'], min(count($this->load['shared']), mt_rand(2, 3))) as $index) {
            $buckets[] = $this->load['shared'][$index];
        }
        $entries = [];
        foreach ($buckets as $bucket) {
            $entries[$bucket[0]] = [$bucket, ...$this->amount($bucket)];
        }
        $answers = $this->take_all($entries);
        foreach ($entries as $id => [$bucket, $cost]) {
            $this->took($bucket, $cost, $answers[$id][0]);
        }
    }

    /** Continues after a take. Some grants are followed by other calls on the same bucket. */
    private function took(array $bucket, int $cost, int $answer): void
    {
        if ($answer === CallLog::ERROR || $answer === CallLog::UNASKED) {
            usleep(2_000);
        } elseif ($answer === CallLog::DONE && !is_lockout($bucket)) {
            $this->granted[$bucket[0]] = ($this->granted[$bucket[0]] ?? 0) + $cost;
            if ($this->one_in($this->load['charges'])) {
                mt_rand(0, 1) === 0 ? $this->charge($bucket, $this->cost($bucket)) : $this->settle($bucket, $cost);
            } elseif (!is_quota($bucket) && $this->one_in($this->load['reserves'])) {
                $this->reserve_or_wait($bucket, $this->cost($bucket), mt_rand(0, 8) / $bucket[2]);
            }
        }
    }

    /** Blocks a bucket, or leaves it few tokens. */
    private function drain_somehow(array $bucket): void
    {
        mt_rand(0, 1) === 0 ? $this->drain($bucket, 1, mt_rand(1, 8) / $bucket[2]) : $this->drain($bucket, mt_rand(0, min(3, $bucket[1])));
    }

    /** Settles a grant. The call is noted as the charge or the refund of the difference. */
    private function settle(array $bucket, int $reserved): void
    {
        $actual = mt_rand(self::is_refunded($bucket) ? 0 : $reserved, 2 * $reserved);
        [$kind, $cost] = $actual < $reserved ? [CallLog::REFUND, $reserved - $actual] : [CallLog::CHARGE, $actual - $reserved];
        $this->granted[$bucket[0]] -= min($reserved, $this->granted[$bucket[0]]);
        $sequence = $this->log->start($kind, $bucket[0], $cost);
        $this->call($sequence, fn () => $this->limiter->settle($bucket, $reserved, $actual));
    }

    /** Reserves tokens, or waits for them. Then uses, cancels or holds the reservation. */
    private function reserve_or_wait(array $bucket, int $cost, float $wait): void
    {
        if ($wait < 0.02 && mt_rand(0, 3) === 0) {
            $sequence = $this->log->start(CallLog::RESERVE, $bucket[0], $cost, wait: $wait);
            $this->call($sequence, fn () => $this->limiter->wait($bucket, $cost, $wait));
            return;
        }
        [$answer, $delay, $reservation, $sequence] = $this->reserve($bucket, $cost, $wait);
        if ($answer !== CallLog::DONE) {
            return;
        }
        $may_cancel = $this->slot < $this->load['cancellers'] && count($this->held) < $this->load['held'];
        $choice = $may_cancel ? mt_rand(0, 2) : 0;
        if ($choice === 1) {
            $this->cancel($bucket, $cost, $reservation, $sequence);
        } elseif ($choice === 2) {
            $this->held[] = [$bucket, $cost, $reservation, $sequence];
        } elseif ($delay < 0.02) {
            $reservation->wait();
        }
    }

    private function give(int $kind, array $bucket, float $cost, callable $call): void
    {
        $this->call($this->log->start($kind, $bucket[0], $cost), $call);
    }

    private function one_in(int $chance): bool
    {
        return $chance > 0 && mt_rand(1, $chance) === 1;
    }
}

/**
 * Reports whether a limit of the load is a quota, which is a list of an id, a limit, 0, and an
 * anchor.
 */
function is_quota(array $limit): bool
{
    return isset($limit['anchor']);
}

/**
 * Reports whether a limit of the load is a lockout, which is a list of an id and all arguments of
 * the class.
 */
function is_lockout(array $limit): bool
{
    return isset($limit['lockout']);
}

/** Returns UNASKED if the exception proves that the store was not contacted, or else ERROR. */
function failure_of(Throwable $error): int
{
    return preg_match('/its breaker is open|cannot connect/', $error->getMessage()) ? CallLog::UNASKED : CallLog::ERROR;
}

/** Returns the id of this process in the namespace of the campaign. */
function process_id(): int
{
    return (int) readlink('/proc/self');
}

// The campaign includes this file for its classes.
if (basename($_SERVER['SCRIPT_FILENAME']) === 'worker.php') {
    [$load, $slot, $seed] = isset($_GET['load']) ? [$_GET['load'], $_GET['slot'], $_GET['seed']] : array_slice($argv, 1, 3);
    $load = json_decode(file_get_contents($load), true);
    mt_srand((int) $seed);
    $end = isset($_GET['milliseconds']) ? min($load['end'], hrtime(true) + 1_000_000 * (int) $_GET['milliseconds']) : $load['end'];
    $log = new CallLog($load['logs'], process_id());
    isset($load['hosts']) && $log->host(process_id(), 1 + $slot % $load['hosts']);
    if (isset($load['permits'])) {
        // Under php-fpm the class is in this file.
        class_exists('PermitLoad') || require_once __DIR__ . '/permits.inc.php';
        (new PermitLoad(new Permits($load), $log, $load))->run($end);
    } else {
        (new Load(new Extension($load['storage']), $log, $load, (int) $slot))->run($end);
    }
    echo 'done';
}

<?php
/**
 * Defines the load of a concurrency limit. worker.php includes this file. Under php-fpm it follows
 * the code of worker.php in one file.
 *
 * In the log, CallLog::TAKE is a call that asks for a permit, with the limit as its tokens.
 * CallLog::CANCEL is the release of the permit.
 */

/** The limiter that is judged: the extension's class, in shared memory or on Redis. */
final class Permits
{
    private readonly TokenBucketStorage $storage;

    public function __construct(private readonly array $load)
    {
        $this->storage = isset($load['dsn'])
            ? new TokenBucketStorageRedis($load['dsn'], onFailure: TokenBucket\OnFailure::Throw)
            : new TokenBucketStorageSharedMemory;
    }

    /** @return array{int, ?object} the result as a constant of CallLog, and the permit */
    public function acquire(int $key, int $limit, float $timeout): array
    {
        $limit = new TokenBucket\ConcurrencyLimit($this->storage, "key $key", $limit, $this->load['lease']);
        $permit = $limit->acquire($timeout);
        return match ($permit->decision->reason) {
            'granted' => [CallLog::DONE, $permit],
            'too_many_concurrent' => [CallLog::DENIED, null],
            'contended' => [CallLog::EXCUSED, null],
            default => throw new RuntimeException("denied: {$permit->decision->reason}"),
        };
    }

    public function release(object $permit): void
    {
        $permit->release();
    }

    /** Checks that a permit which a forked child has inherited is not the child's. */
    public function is_inert(object $permit): bool
    {
        $permit->release();
        return !$permit->renew();
    }
}

/** Calls a concurrency limit, and notes each call. */
class PermitCaller
{
    public function __construct(public readonly object $limiter, protected readonly CallLog $log)
    {
    }

    /** @return array{?object, int, int} the permit, the sequence of the call, and the result as a constant of CallLog */
    public function acquire(int $key, int $limit = 1, float $timeout = 0): array
    {
        $sequence = $this->log->start(CallLog::TAKE, $key, $limit);
        try {
            [$answer, $permit] = $this->limiter->acquire($key, $limit, $timeout);
        } catch (TokenBucket\StorageException $error) {
            [$answer, $permit] = [failure_of($error), null];
        }
        $this->log->end(hrtime(true), $sequence, $answer);
        return [$permit, $sequence, $answer];
    }

    /**
     * Releases a permit that the call with this sequence was granted, by its method or by its last
     * reference.
     */
    public function release(int $key, ?object &$permit, int $taken, bool $drops = false): void
    {
        $sequence = $this->log->start_cancel($key, 0, $taken);
        $answer = CallLog::DONE;
        try {
            if ($drops) {
                $permit = null;
            } else {
                $this->limiter->release($permit);
            }
        } catch (TokenBucket\StorageException) {
            $answer = CallLog::ERROR;
        }
        $this->log->end(hrtime(true), $sequence, $answer);
    }
}

/** Takes, holds and releases permits in a loop. */
final class PermitLoad extends PermitCaller
{
    /** The first of the keys that callers rarely use. */
    public const RARE = 1_000;
    /** The most released permits that are kept. */
    private const KEPT = 4;

    /** @var list<array{int, object, int}> the key and the permit, and the sequence of its call */
    private array $held = [];
    /** @var list<object> permits that were released, and are released again */
    private array $released = [];
    /** @var resource locked until the worker and all its forked children have ended */
    private $alive;

    public function __construct(
        object $limiter,
        CallLog $log,
        private readonly array $load,
    ) {
        parent::__construct($limiter, $log);
        $this->alive = fopen("$load[logs]/alive", 'r');
        flock($this->alive, LOCK_SH);
    }

    public function run(int $end): void
    {
        for ($turn = 0; hrtime(true) < $end && $turn !== $this->load['turns']; $turn++) {
            // php-fpm has no such function.
            if (function_exists('pcntl_fork') && $this->one_in($this->load['forks'])) {
                $this->fork();
            } elseif ($this->released !== [] && mt_rand(0, 7) === 0) {
                $this->release_again(array_pop($this->released));
            } elseif ($this->held !== [] && (count($this->held) >= $this->load['held'] || mt_rand(0, 1) === 0)) {
                $this->release_one();
            } else {
                $this->acquire_one();
            }
            if ($this->one_in($this->load['pauses'])) {
                usleep(mt_rand(0, $this->load['pause']));
            }
        }
        while ($this->held !== []) {
            $this->release_one();
        }
    }

    private function acquire_one(): void
    {
        [$key, $limit] = $this->load['limits'][array_rand($this->load['limits'])];
        if ($this->load['rare'] > 0 && mt_rand(0, 5) === 0) {
            [$key, $limit] = [self::RARE + mt_rand(0, $this->load['rare'] - 1), 1];
        }
        $timeout = mt_rand(0, 3) === 0 ? mt_rand(0, 20) / 1_000 : 0.0;
        [$permit, $sequence, $answer] = $this->acquire($key, $limit, $timeout);
        if ($answer === CallLog::ERROR || $answer === CallLog::UNASKED) {
            usleep(2_000);
        }
        if ($permit !== null) {
            $this->held[] = [$key, $permit, $sequence];
        }
    }

    private function release_one(): void
    {
        [[$key, $permit, $taken]] = array_splice($this->held, array_rand($this->held), 1);
        $this->release($key, $permit, $taken, $this->load['drops'] && mt_rand(0, 1) === 0);
        if ($permit !== null && count($this->released) < self::KEPT) {
            $this->released[] = $permit;
        }
    }

    /** Releases a permit that was released before. An exact limiter ignores this. */
    private function release_again(object $permit): void
    {
        try {
            $this->limiter->release($permit);
        } catch (TokenBucket\StorageException) {
        }
    }

    /** Forks a child that lives on when this worker is killed. */
    private function fork(): void
    {
        pcntl_signal(SIGCHLD, SIG_IGN);
        if (pcntl_fork() !== 0) {
            return;
        }
        $inherited = $this->held;
        usleep(mt_rand(0, 20_000));
        foreach ($inherited as [$key, $permit]) {
            $this->limiter->is_inert($permit) || print("a child holds the permit of its parent\n");
        }
        $child = new self($this->limiter, new CallLog($this->load['logs'], process_id()), ['turns' => 20, 'forks' => 0] + $this->load);
        $child->run($this->load['end']);
        // Skips the shutdown functions of the parent.
        posix_kill(getmypid(), SIGKILL);
    }

    private function one_in(int $chance): bool
    {
        return $chance > 0 && mt_rand(1, $chance) === 1;
    }
}

/**
 * Takes every permit after a trial, and notes the calls. All workers have ended, so every permit
 * must be free.
 */
function take_all_permits(array $load): void
{
    $held = TokenBucket\status()['permits']['held'];
    $held === 0 || print("$held permits are held after all workers have ended\n");
    $caller = new PermitCaller(new Permits($load), new CallLog($load['logs'], 'after'));
    $permits = [];
    foreach ($load['limits'] as [$key, $limit]) {
        for ($turn = 0; $turn <= $limit; $turn++) {
            [$permits[]] = $caller->acquire($key, $limit);
        }
    }
}

<?php
require_once __DIR__ . '/worker.php';
require_once __DIR__ . '/subject.inc.php';
require_once __DIR__ . '/permits.inc.php';
require_once __DIR__ . '/judges.inc.php';

/** The fault of a control did not happen, so its history proves nothing about the judge. */
final class Inconclusive extends Exception
{
}

/**
 * A history of few calls in a given order, in which a control certainly commits its fault. The
 * history counts the faults that happened, and then asks the judge.
 */
final class History
{
    /** The id of the last bucket. No two histories of a process share a bucket. */
    private static int $buckets = 0;
    /** @var array<string, int> the number of each fault */
    public array $faults = [];
    private int $callers = 0;

    private function __construct(public readonly string $folder, private string $rules)
    {
    }

    /**
     * Runs the script of a control and judges its calls.
     *
     * @param class-string<Scripted> $control
     * @return array{string, int, array<string, int>} the judge's output, its exit code, and the
     *         number of each fault
     */
    public static function of(string $control): array
    {
        $folder = sys_get_temp_dir() . '/tokenbucket-prove-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($folder);
        $history = new self($folder, $control::ALLOWANCES);
        try {
            $control::run($history);
            if ($history->faults === []) {
                throw new Inconclusive('no fault is forced');
            }
            file_put_contents("$folder/rules.log", $history->rules);
            [$told, $code] = judge($folder);
        } finally {
            keep($control, $folder);
            exec('rm -rf ' . escapeshellarg($folder));
        }
        return [$told, $code, $history->faults];
    }

    /** @return array{int, float, float} a new bucket for Caller */
    public function bucket(float $capacity, float $rate): array
    {
        $id = ++self::$buckets;
        $this->rules .= sprintf("bucket %d %d %d\n", $id, $capacity * 1000, $rate * 1000);
        return [$id, $capacity, $rate];
    }

    /** @return list<array{int, float, float, name: int}> new limits of one bucket for Caller */
    public function limits(array ...$limits): array
    {
        $buckets = array_map(fn (array $limit) => $this->bucket(...$limit), $limits);
        $ids = array_column($buckets, 0);
        $this->rules .= 'shared ' . implode(' ', $ids) . "\n";
        return array_map(fn (array $bucket) => $bucket + ['name' => $ids[0]], $buckets);
    }

    /** @return array{int, lockout: array} a new lockout for Caller */
    public function lockout(int $attempts, float $block, float $factor, float $longest): array
    {
        $id = ++self::$buckets;
        $this->rules .= sprintf("lockout %d %d %d %d %d 2048\n", $id, $attempts, $block * 1e9, $factor * 1e3, $longest * 1e9);
        return [$id, 'lockout' => [$attempts, $block, $factor, $longest]];
    }

    /**
     * Returns a new quota of a minute for Caller.
     *
     * @param int $anchor the Unix time at which a window begins
     * @return array{int, int, int, anchor: int}
     */
    public function quota(int $limit, int $anchor): array
    {
        $id = ++self::$buckets;
        $start = $anchor * 1_000_000_000 - Subject::offset();
        $this->rules .= sprintf("quota %d %d %d %d %d\n", $id, $limit, 20_000_000, $start, $start + 60_000_000_000);
        return [$id, $limit, 0, 'anchor' => $anchor];
    }

    /** Adds a key of a concurrency limit. */
    public function key(int $key, int $limit): void
    {
        $this->rules .= "limit $key $limit\n";
    }

    public function caller(object $limiter): Caller
    {
        return new Caller($limiter, new CallLog($this->folder, ++$this->callers));
    }

    public function permit_caller(object $limiter): PermitCaller
    {
        return new PermitCaller($limiter, new CallLog($this->folder, ++$this->callers));
    }

    /** Runs a call up to its gap. Runs other calls there, and then the rest of the call. */
    public function meanwhile(callable $call, callable $others): mixed
    {
        $fiber = new Fiber($call);
        $fiber->start();
        if (!$fiber->isSuspended()) {
            throw new Inconclusive('a call has no gap');
        }
        $others();
        while ($fiber->isSuspended()) {
            $fiber->resume();
        }
        return $fiber->getReturn();
    }

    /** The point of a limiter at which other calls can be made. */
    public static function gap(): void
    {
        Fiber::getCurrent() !== null && Fiber::suspend();
    }

    /** Counts a fault. */
    public function happened(string $fault, bool $did = true): void
    {
        if (!$did) {
            throw new Inconclusive("not happened: $fault");
        }
        $this->faults[$fault] = ($this->faults[$fault] ?? 0) + 1;
    }

    /** Sleeps until a Unix time. */
    public static function sleep_until(float $time): void
    {
        while (($rest = $time - microtime(true)) > 0) {
            usleep((int) ceil($rest * 1e6));
        }
    }

    /**
     * Makes calls in a forked process. Kills it when it has made them, and notes its death.
     *
     * @param callable(CallLog): bool $calls returns whether the fault happened
     * @param bool $apart true if the process is in a process namespace of its own
     */
    public function forked(string $fault, callable $calls, bool $apart = false): void
    {
        [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $process = pcntl_fork();
        if ($process === 0) {
            if ($apart) {
                pcntl_unshare(CLONE_NEWPID);
                // Only the children of this process are in the namespace.
                pcntl_waitpid(pcntl_fork(), $status) === -1 || self::end();
            }
            fwrite($there, $calls(new CallLog($this->folder, process_id())) ? process_id() . "\n" : "\n");
            sleep($apart ? 0 : 600);
            self::end();
        }
        fclose($there);
        $caller = (int) fgets($here);
        $events = new CallLog($this->folder, 'events');
        $events->doom($caller);
        $apart || posix_kill($process, SIGKILL);
        pcntl_waitpid($process, $status);
        $events->death($caller);
        $this->happened($fault, $caller !== 0);
    }

    /** Ends a forked process without the shutdown functions of its parent. */
    private static function end(): never
    {
        pcntl_exec('/bin/true');
        exit(1);
    }
}

/** A limiter that is wrong on purpose, with the calls that bring its fault about. */
interface Scripted
{
    /** The allowances for the store of the control, as lines of the log. */
    public const ALLOWANCES = "tick 1000\nlinger 500000000\n";

    /** The rule that the log must break. */
    public const RULE = '1';

    /** Makes the calls. Throws Inconclusive if the fault did not happen. */
    public static function run(History $history): void;
}

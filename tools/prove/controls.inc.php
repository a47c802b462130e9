<?php
/**
 * Defines the controls: limiters that are wrong on purpose, as some applications use them. Each has
 * the calls that bring its fault about. The judge must find that their log breaks a rule.
 */
require_once __DIR__ . '/history.inc.php';

/** A connection to a server, with only the commands that the controls need. */
final class Wire
{
    /** @var ?resource */
    private $stream = null;

    public function __construct(private readonly string $address)
    {
    }

    /**
     * Sends a command to memcached or Redis. Returns the value in the reply, or null if the reply
     * has no value.
     */
    public function ask(string $command): ?string
    {
        $this->stream ??= @stream_socket_client($this->address, $code, $error, 1) ?: throw new RuntimeException($error);
        fwrite($this->stream, "$command\r\n");
        $line = $this->line();
        if (str_starts_with($line, 'VALUE')) {
            $value = $this->line();
            $this->line();
            return $value;
        }
        if (str_starts_with($line, '$')) {
            return $line === '$-1' ? null : $this->line();
        }
        return $line === 'END' || $line === 'NOT_FOUND' ? null : $line;
    }

    private function line(): string
    {
        $line = fgets($this->stream);
        if ($line === false) {
            $this->stream = null;
            throw new RuntimeException('the connection ended');
        }
        return rtrim($line, "\r\n");
    }
}

/** The base of the controls that do not extend Extension, the limiter in worker.php. */
abstract class Control implements Scripted
{
    public function __construct(protected readonly Wire $wire)
    {
    }

    public function failed(Throwable $error): int
    {
        return CallLog::ERROR;
    }

    /** @return array{int, float} the result as a constant of CallLog, and the seconds to wait */
    abstract public function take(array $bucket, float $cost): array;

    /**
     * Returns the instant at which a bucket was empty, as Redis keeps it, or $full if that is later
     * or if Redis keeps nothing. $full is the instant at which a bucket that is full now was empty.
     * It is negative soon after the boot, so no number can mean that Redis keeps nothing.
     */
    protected function empty_at(string $key, float $full): float
    {
        return max((float) ($this->wire->ask("GET $key") ?? $full), $full);
    }

    /** Starts a Redis, and returns a connection to it for each caller. */
    protected static function redis(): callable
    {
        $server = RedisServer::start();
        return fn () => new Wire("unix://$server->socket");
    }
}

/**
 * A window limiter on memcached. It fetches the count of the window, compares the count and
 * increments it.
 */
final class CheckThenIncrement extends Control
{
    public function take(array $bucket, float $cost): array
    {
        [$id, $capacity, $rate] = $bucket;
        // The length of the window in seconds. It is the time in which the rate adds the capacity.
        $span = $capacity / $rate;
        $time = hrtime(true) / 1e9 / $span;
        $key = "b$id:" . (int) floor($time);
        $count = (int) $this->wire->ask("get $key");
        if ($count + $cost > $capacity) {
            // The window ends at fixed instants, unlike a token bucket. So rules 2 and 3 do not
            // apply, and its denials are logged as excused.
            return [CallLog::EXCUSED, (ceil($time) - $time) * $span];
        }
        History::gap();
        if ($this->wire->ask("incr $key $cost") === null) {
            $this->wire->ask("add $key 0 60 " . strlen((string) $cost) . "\r\n$cost");
        }
        return [CallLog::DONE, 0];
    }

    public static function run(History $history): void
    {
        $server = MemcachedServer::startUnix();
        take_twice($history, $history->bucket(4, 0.01), fn () => new self(new Wire("unix://$server->socket")), 4);
    }
}

/** A token bucket on Redis. It fetches the state, decides in PHP, and saves the new state. */
final class FetchDecideSave extends Control
{
    public function take(array $bucket, float $cost): array
    {
        [$id, $capacity, $rate] = $bucket;
        [$tokens, $time] = explode(' ', strtr($this->wire->ask("GET b$id") ?? "$capacity/" . hrtime(true), '/', ' '));
        $now = hrtime(true);
        $tokens = min($capacity, $tokens + ($now - $time) / 1e9 * $rate);
        if ($tokens < $cost) {
            return [CallLog::DENIED, ($cost - $tokens) / $rate];
        }
        History::gap();
        $this->wire->ask("SET b$id " . ($tokens - $cost) . "/$now");
        return [CallLog::DONE, 0];
    }

    public static function run(History $history): void
    {
        $wire = self::redis();
        take_twice($history, $history->bucket(4, 0.01), fn () => new self($wire()), 4);
    }
}

/** Lets two callers decide on the same state of a bucket or a lockout. */
function take_twice(History $history, array $bucket, callable $limiter, int $cost = 1, int $floor = 0): void
{
    [$one, $other] = [$history->caller($limiter()), $history->caller($limiter())];
    $first = $history->meanwhile(
        fn () => $one->take($bucket, $cost, $floor),
        function () use ($other, $bucket, $cost, $floor, &$second) {
            $second = $other->take($bucket, $cost, $floor);
        },
    );
    $history->happened('granted on an old state', $first[0] === CallLog::DONE && $second[0] === CallLog::DONE);
}

/** The extension on a Redis that loses replies, in an application that retries each failed call. */
class BlindRetry extends Extension implements Scripted
{
    public const RULE = '2';
    private const CAPACITY = 8;

    public function take(array $bucket, float $cost, float $floor = 0): array
    {
        for ($attempt = 0; ; $attempt++) {
            try {
                return parent::take($bucket, $cost, $floor);
            } catch (TokenBucket\StorageException $error) {
                if ($attempt === 500) {
                    throw $error;
                }
                $attempt === 0 && History::gap();
                usleep(10_000);
            }
        }
    }

    public static function run(History $history): void
    {
        $redis = RedisServer::start();
        $proxy = new Proxy("unix://$redis->socket");
        self::retry(
            $history,
            "redis://127.0.0.1:$proxy->port",
            fn () => $proxy->set(Proxy::SWALLOW_REPLIES),
            fn () => $proxy->set(Proxy::PASS),
        );
        $proxy->stop();
    }

    /** Lets a call fail after the store has charged it, and retries it. */
    protected static function retry(History $history, string $dsn, callable $fail, callable $heal): void
    {
        $storage = ['class' => 'TokenBucketStorageRedis', 'arguments' => ['dsn' => $dsn, 'onFailure' => 'Throw', 'denialCache' => false]];
        // The rate is so low that a token that was charged twice is not refilled.
        $bucket = $history->bucket(self::CAPACITY, 0.001);
        $caller = $history->caller(new self($storage));
        // The first call connects, so that the second one reaches the store.
        $caller->take($bucket);
        $fail();
        $history->meanwhile(fn () => $caller->take($bucket, 2), $heal);
        $left = $caller->limiter->bucket($bucket)->peek()->remaining;
        $history->happened('charged twice', $left < self::CAPACITY - 4);
        while ($caller->take($bucket)[0] === CallLog::DONE) {
        }
    }
}

/** The same application on a cluster whose primaries reply too late. */
final class BlindRetryOnCluster extends BlindRetry
{
    public static function run(History $history): void
    {
        $servers = start_cluster();
        $dsn = 'redis+cluster://' . implode(',', array_map(fn (RedisServer $seed) => "127.0.0.1:$seed->port", $servers));
        $signal = fn (int $signal) => fn () => array_map(fn (RedisServer $server) => posix_kill($server->pid, $signal), $servers);
        self::retry($history, $dsn, $signal(SIGSTOP), $signal(SIGCONT));
    }
}

/** The base of applications that call the extension, but do a part of its work wrongly. */
abstract class WrongCaller extends Extension implements Scripted
{
    public const ALLOWANCES = "tick 1\n";

    final public function __construct()
    {
        parent::__construct(['class' => 'TokenBucketStorageSharedMemory', 'arguments' => []]);
    }

    /** Returns the tokens that the store keeps of a bucket. */
    public function remaining(array $bucket): float
    {
        return $this->bucket($bucket)->peek()->remaining;
    }
}

/** Cancels a reservation by a refund of its whole cost, although later reservations build on it. */
final class WholeCancel extends WrongCaller
{
    public function cancel(array $bucket, float $cost, object $reservation): void
    {
        $this->bucket($bucket)->refund($cost);
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(4, 0.1);
        $caller = $history->caller(new self);
        [, , $reservation, $sequence] = $caller->reserve($bucket, 4, 1000);
        $caller->reserve($bucket, 4, 1000);
        $caller->cancel($bucket, 4, $reservation, $sequence);
        $history->happened('whole cost given back', $caller->limiter->remaining($bucket) > -1);
        $caller->reserve($bucket, 4, 1000);
    }
}

/**
 * A batch that takes from one bucket after the other. If a bucket denies, the batch gives back the
 * whole costs, but so late that the buckets are full again.
 */
class LateGiveBack extends WrongCaller
{
    /** The seconds in which the bucket is full again. */
    private const REFILL = 0.5;

    public function take_all(array $entries): array
    {
        $answers = [];
        foreach ($entries as $id => $entry) {
            $answers[$id] = $this->take(...$entry);
            if ($answers[$id][0] !== CallLog::DONE) {
                History::gap();
                foreach (array_keys($answers, [CallLog::DONE, 0]) as $taken) {
                    $this->refund($entries[$taken][0], $entries[$taken][1]);
                }
                return [$id => $answers[$id]] + array_fill_keys(array_keys($entries), [CallLog::UNDONE, 0]);
            }
        }
        return $answers;
    }

    public static function run(History $history): void
    {
        $bucket = $history->bucket(4, 4 / self::REFILL);
        self::give_back($history, $bucket, 4, function (Caller $other) use ($bucket, &$taken) {
            while ($other->limiter->remaining($bucket) < 4) {
                usleep(1_000);
            }
            $taken = hrtime(true);
            $other->take($bucket, 4);
        });
        $history->happened('given back late', hrtime(true) - $taken < self::REFILL / 2 * 1e9);
    }

    /** Makes other calls before a batch gives tokens back, and takes these tokens. */
    protected static function give_back(History $history, array $bucket, int $cost, callable $others): void
    {
        $empty = $history->bucket(1, 0.001);
        [$caller, $other] = [$history->caller(new static), $history->caller(new static)];
        $caller->take($empty);
        $entries = [$bucket[0] => [$bucket, $cost, 0], $empty[0] => [$empty, 1, 0]];
        $history->meanwhile(fn () => $caller->take_all($entries), fn () => $others($other));
        $other->take($bucket, $cost);
    }
}

<?php
/**
 * Defines the controls: limiters that are wrong on purpose, as some applications use them. The
 * judge must find that the log of each of them breaks a rule.
 */

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
abstract class Control
{
    protected readonly Wire $wire;

    public function __construct(protected readonly array $load)
    {
        $this->wire = new Wire($load['address']);
    }

    public function failed(Throwable $error): int
    {
        return CallLog::ERROR;
    }

    /** @return array{int, float} the result as a constant of CallLog, and the seconds to wait */
    abstract public function take(array $bucket, float $cost): array;
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
        if ($this->wire->ask("incr $key $cost") === null) {
            $this->wire->ask("add $key 0 60 " . strlen((string) $cost) . "\r\n$cost");
        }
        return [CallLog::DONE, 0];
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
        $this->wire->ask("SET b$id " . ($tokens - $cost) . "/$now");
        return [CallLog::DONE, 0];
    }
}

/** The extension on a Redis that loses replies, in an application that retries each failed call. */
final class BlindRetry extends Control
{
    private readonly Extension $extension;

    public function __construct(array $load)
    {
        $this->extension = new Extension($load['storage']);
    }

    public function take(array $bucket, float $cost): array
    {
        for ($attempt = 0; ; $attempt++) {
            try {
                return $this->extension->take($bucket, $cost);
            } catch (TokenBucket\StorageException $error) {
                if ($attempt === 500) {
                    throw $error;
                }
                usleep(10_000);
            }
        }
    }
}

/** The base of applications that call the extension, but do a part of its work wrongly. */
abstract class WrongCaller extends Extension
{
    public function __construct(array $load)
    {
        parent::__construct($load['storage']);
    }
}

/** Forgets the debt after a reservation, so that other callers get its tokens, too. */
final class ForgottenDebt extends WrongCaller
{
    public function reserve(array $bucket, float $cost, float $wait): array
    {
        $answer = parent::reserve($bucket, $cost, $wait);
        $debt = -($answer[2]?->decision->remaining ?? 0);
        if ($debt > 0) {
            $this->bucket($bucket)->refund($debt);
        }
        return $answer;
    }
}

/** Cancels a reservation by a refund of its whole cost, although later reservations build on it. */
final class WholeCancel extends WrongCaller
{
    public function cancel(array $bucket, float $cost, object $reservation): void
    {
        $this->bucket($bucket)->refund($cost);
    }
}

/** Ignores a charge if the bucket does not hold its tokens. */
final class ForgottenCharge extends WrongCaller
{
    public function charge(array $bucket, float $cost): array
    {
        $this->take($bucket, $cost);
        return [CallLog::DONE, 0];
    }
}

/**
 * A batch that takes from one bucket after the other. If a bucket denies, the batch gives back the
 * whole costs, but so late that the buckets are full again. All workers take from single buckets in
 * short groups of calls at fixed times.
 */
final class LateGiveBack extends WrongCaller
{
    /** The time from one group of calls to the next in nanoseconds. A bucket is full in between. */
    private const PERIOD = 40_000_000;
    /** The length of a group in nanoseconds. */
    private const GROUP = 5_000_000;

    /** @var ?resource the lock of the worker whose turn it is */
    private $turn = null;

    public function take(array $bucket, float $cost, float $floor = 0): array
    {
        if (hrtime(true) % self::PERIOD > self::GROUP) {
            self::sleep_until(0);
        }
        $answer = parent::take($bucket, $cost, $floor);
        usleep($answer[0] === CallLog::DENIED ? 100 : 0);
        return $answer;
    }

    public function take_all(array $entries): array
    {
        // One batch runs at a time, so that no give-back of another batch can explain the extra
        // tokens.
        $this->turn ??= fopen(__FILE__, 'r');
        if (!flock($this->turn, LOCK_EX | LOCK_NB)) {
            return array_fill_keys(array_keys($entries), [CallLog::EXCUSED, 0]);
        }
        try {
            return $this->take_in_turn($entries);
        } finally {
            flock($this->turn, LOCK_UN);
        }
    }

    private function take_in_turn(array $entries): array
    {
        self::sleep_until(self::PERIOD / 2);
        $answers = [];
        foreach ($entries as $id => $entry) {
            $answers[$id] = parent::take(...$entry);
            if ($answers[$id][0] !== CallLog::DONE) {
                self::sleep_until(self::GROUP / 5);
                foreach (array_keys($answers, [CallLog::DONE, 0]) as $taken) {
                    $this->refund($entries[$taken][0], $entries[$taken][1]);
                }
                return [$id => $answers[$id]] + array_fill_keys(array_keys($entries), [CallLog::UNDONE, 0]);
            }
        }
        return $answers;
    }

    /** Sleeps until $after nanoseconds after the next start of a group. */
    private static function sleep_until(int $after): void
    {
        $wait = self::PERIOD - (hrtime(true) - $after) % self::PERIOD;
        usleep(intdiv($wait, 1_000));
    }
}

<?php
/**
 * Limiters that are known to be bad, as they are found in the wild. The same load, faults and judge must convict them.
 */

/** A connection to a server, with only what the controls need. */
final class Wire
{
    /** @var ?resource */
    private $stream = null;

    public function __construct(private readonly string $address)
    {
    }

    /** The value in a reply of memcached or Redis; null for none. */
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

/** What all of them have in common. */
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

    /** @return array{int, float} */
    abstract public function take(array $bucket, float $cost): array;
}

/** memcached: fetch the count of this window of time, compare it with the limit, then increment it. */
final class CheckThenIncrement extends Control
{
    public function take(array $bucket, float $cost): array
    {
        [$id, $capacity, $rate] = $bucket;
        // The span in which the rate adds the capacity: capacity requests in so many seconds.
        $span = $capacity / $rate;
        $time = hrtime(true) / 1e9 / $span;
        $key = "b$id:" . (int) floor($time);
        $count = (int) $this->wire->ask("get $key");
        if ($count + $cost > $capacity) {
            // Not for want of tokens: a window knows none.
            return [CallLog::EXCUSED, (ceil($time) - $time) * $span];
        }
        if ($this->wire->ask("incr $key $cost") === null) {
            $this->wire->ask("add $key 0 60 " . strlen((string) $cost) . "\r\n$cost");
        }
        return [CallLog::DONE, 0];
    }
}

/** Redis: a token bucket that fetches its state, decides, and saves it. */
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

/** The extension over a Redis that loses replies, by a caller who asks again whenever that failed. */
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

<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

/** A server of a store. Creates storages and buckets on that server. */
final class Store
{
    private function __construct(public readonly ServerProcess $server, public readonly string $kind)
    {
    }

    /** @return iterable<string, self> */
    public static function each(): iterable
    {
        yield 'Redis' => new self(RedisServer::start(), 'Redis');
        yield 'Memcached' => new self(MemcachedServer::startUnix(), 'Memcached');
    }

    public function storage(OnFailure $policy, string $prefix = 'p:', bool $denialCache = false): TokenBucketStorage
    {
        $class = "TokenBucketStorage$this->kind";
        return new $class("unix://{$this->server->socket}", $prefix, PATIENCE, $policy, $denialCache, LASTING);
    }

    public function bucket(OnFailure $policy, string $name = 'x', int $capacity = 5): TokenBucket
    {
        return new TokenBucket($this->storage($policy), $name, $capacity, 0.001);
    }

    /** Returns the store's row in status()['stores'], or an empty array. */
    public function state(): array
    {
        foreach (TokenBucket\status()['stores'] as $state) {
            if (str_starts_with($this->name(), $state['name'])) {
                return $state;
            }
        }
        return [];
    }

    /** Returns the store's name in messages and in status(). */
    public function name(): string
    {
        return $this->kind === 'Redis' ? "unix://{$this->server->socket}?db=0" : "memcached at unix://{$this->server->socket}";
    }

    /** Calls the store until a call succeeds. Returns true on success, or false after a minute. */
    public function is_back(): bool
    {
        $bucket = $this->bucket(OnFailure::Throw, 'probe');
        for ($start = microtime(true); microtime(true) - $start < 60; usleep(20_000)) {
            try {
                $bucket->peek();
                return true;
            } catch (TokenBucket\StorageException) {
            }
        }
        return false;
    }
}

/** Collects warnings without their folders, error numbers and addresses. */
final class Warnings
{
    public static array $all = [];

    public static function collect(): void
    {
        set_error_handler(function (int $level, string $message): bool {
            // Ignores warnings that the code silenced with @.
            if ((error_reporting() & $level) === 0) {
                return true;
            }
            self::$all[] = ($level === E_WARNING ? 'Warning: ' : "level $level: ") . self::plain($message);
            return true;
        });
    }

    public static function take(): array
    {
        [$all, self::$all] = [self::$all, []];
        return $all;
    }

    public static function plain(string $message): string
    {
        return preg_replace(['~/\S*/(\w+\.sock)~', '/\(os error \d+\)/', '/127\.0\.0\.1:\d+/'], ['$1', '(os error)', 'address'], $message);
    }
}

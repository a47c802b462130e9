<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\Config\Definition\Exception\InvalidConfigurationException;
use Symfony\Component\RateLimiter\LimiterStateInterface;
use Symfony\Component\RateLimiter\Storage\StorageInterface;
use TokenBucket\OnFailure;
use TokenBucketStorage;
use TokenBucketStorageMemcached;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;

/**
 * Passes a storage of the extension through a parameter of type StorageInterface.
 *
 * Fetching and saving a state cannot be exact, so these methods throw. Only Symfony's own limiters
 * call them.
 */
final class BucketStorage implements StorageInterface
{
    public function __construct(public readonly TokenBucketStorage $storage)
    {
    }

    /**
     * Creates the storage for a DSN: "shared-memory", "redis://…", "rediss://…", "unix:///path" of
     * a Redis, or "memcached://host:port,host:port".
     *
     * @param string $namespace separates applications that share the store
     * @throws InvalidConfigurationException if the DSN is invalid
     */
    public static function fromDsn(#[\SensitiveParameter] string $dsn, string $namespace): self
    {
        return self::create($dsn, $namespace, []);
    }

    /** Creates the storage of fromDsn() for an operator, whose calls fail if the store fails. */
    public static function forOperator(#[\SensitiveParameter] string $dsn, string $namespace): self
    {
        return self::create($dsn, $namespace, ['timeout' => 2.0, 'onFailure' => OnFailure::Throw, 'denialCache' => false]);
    }

    /** @param array<string, mixed> $options arguments of a remote storage */
    private static function create(#[\SensitiveParameter] string $dsn, string $namespace, array $options): self
    {
        $prefix = $namespace === '' ? 'tokenbucket:' : "tokenbucket:$namespace:";
        try {
            return new self(match (true) {
                $dsn === 'shared-memory' => new TokenBucketStorageSharedMemory($namespace),
                str_starts_with($dsn, 'memcached://') => new TokenBucketStorageMemcached(substr($dsn, strlen('memcached://')), $prefix, ...$options),
                default => new TokenBucketStorageRedis($dsn, $prefix, ...$options),
            });
        } catch (\ValueError $e) {
            // The trace of $e has the DSN, which may contain a password.
            throw new InvalidConfigurationException("Invalid \"token_bucket.dsn\" in config/packages: {$e->getMessage()}");
        }
    }

    public function save(LimiterStateInterface $limiterState): void
    {
        $this->refuse();
    }

    public function fetch(string $limiterStateId): ?LimiterStateInterface
    {
        $this->refuse();
    }

    public function delete(string $limiterStateId): void
    {
        $this->refuse();
    }

    private function refuse(): never
    {
        throw new \LogicException("Symfony's own RateLimiterFactory was loaded before Composer's autoloader ran src/replace_classes.php of tokenbucket/symfony.");
    }
}

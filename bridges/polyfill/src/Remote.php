<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\StorageException;

/** The storages of servers and databases, which this package does not contact. */
final class Remote
{
    /**
     * Gives a storage buckets of this host, if a setting permits that.
     *
     * @param string $server the server and the prefix. Equal strings share their buckets
     * @throws StorageException if the setting does not permit local buckets
     */
    public static function give(\TokenBucketStorage $storage, string $server): void
    {
        if (!Settings::localBuckets()) {
            throw new StorageException(
                get_class($storage) . ' needs the extension tokenbucket. tokenbucket/polyfill has only buckets of one host, '
                . 'so several hosts would admit the number of hosts times the limit. Install the extension, or use '
                . 'TokenBucketStorageSharedMemory on one host, or set tokenbucket.polyfill_local_buckets=1 in php.ini to use local buckets'
            );
        }
        $namespace = "\0" . get_class($storage) . "\0$server";
        Home::give($storage, new Home(FileStore::ofApplication(), $namespace, Grain::Microsecond, true));
    }

    /**
     * Checks numbers of a constructor, as the extension does.
     *
     * @param array<int, array{string, float, int}> $numbers the names, the values and the greatest
     *     values, by position
     */
    public static function check(string $class, array $numbers): void
    {
        foreach ($numbers as $position => [$name, $value, $most]) {
            $fault = match (true) {
                !is_finite($value) => 'must be finite',
                $name === 'timeout' && $value <= 0 => 'must be greater than 0',
                $value < 0 => 'must be greater than or equal to 0',
                $value > $most => "must be less than or equal to $most",
                default => null,
            };
            $fault === null || throw (new Argument("$class::__construct", $position, $name))->invalid($fault);
        }
        if ($class !== \TokenBucketStorageRedis::class && end($numbers)[1] > 0) {
            throw new \LogicException('$takeAhead must be 0, because only TokenBucketStorageRedis can take tokens ahead');
        }
    }
}

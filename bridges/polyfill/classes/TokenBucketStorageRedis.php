<?php

declare(strict_types=1);

use TokenBucket\OnFailure;
use TokenBucket\Polyfill;

/** Throws, or keeps buckets of this host if a setting permits that. */
final readonly class TokenBucketStorageRedis implements TokenBucketStorage
{
    use Polyfill\StorageMethods;

    public function __construct(
        #[\SensitiveParameter] string $dsn,
        string $prefix = 'tokenbucket:',
        float $timeout = 0.05,
        OnFailure $onFailure = OnFailure::Local,
        bool $denialCache = true,
        float $denialCacheMaxAge = 1.0,
        float $takeAhead = 0.0
    ) {
        Polyfill\Remote::check(self::class, [3 => ['timeout', $timeout, 3600], 6 => ['denialCacheMaxAge', $denialCacheMaxAge, 3600], 7 => ['takeAhead', $takeAhead, 1]]);
        Polyfill\Remote::give($this, "$dsn\0$prefix");
    }

    public static function fromClient(
        object $redis,
        string $prefix = 'tokenbucket:',
        float $timeout = 0.05,
        OnFailure $onFailure = OnFailure::Local,
        bool $denialCache = true,
        float $denialCacheMaxAge = 1.0,
        float $takeAhead = 0.0
    ): static {
        $server = $redis instanceof RedisCluster ? $redis->_masters() : [$redis->getHost(), $redis->getPort(), $redis->getDbNum()];
        return new static(json_encode($server), $prefix, $timeout, $onFailure, $denialCache, $denialCacheMaxAge, $takeAhead);
    }
    public function sendCommands(array $commands, float $timeout = 0.05, ?string $server = null): array
    {
        throw new LogicException('TokenBucketStorageRedis::sendCommands() needs the extension');
    }
}

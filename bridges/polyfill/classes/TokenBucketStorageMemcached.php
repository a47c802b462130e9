<?php

declare(strict_types=1);

use TokenBucket\OnFailure;
use TokenBucket\Polyfill;

/** Throws, or keeps buckets of this host if a setting permits that. */
final readonly class TokenBucketStorageMemcached implements TokenBucketStorage
{
    use Polyfill\StorageMethods;

    public function __construct(
        string|array $servers,
        string $prefix = 'tokenbucket:',
        float $timeout = 0.05,
        OnFailure $onFailure = OnFailure::Local,
        bool $denialCache = true,
        float $denialCacheMaxAge = 1.0,
        float $takeAhead = 0.0
    ) {
        Polyfill\Remote::check(self::class, [3 => ['timeout', $timeout, 3600], 6 => ['denialCacheMaxAge', $denialCacheMaxAge, 3600], 7 => ['takeAhead', $takeAhead, 1]]);
        Polyfill\Remote::give($this, implode(',', (array) $servers) . "\0$prefix");
    }

    public static function fromClient(
        object $client,
        string $prefix = 'tokenbucket:',
        float $timeout = 0.05,
        OnFailure $onFailure = OnFailure::Local,
        bool $denialCache = true,
        float $denialCacheMaxAge = 1.0,
        float $takeAhead = 0.0
    ): static {
        $servers = json_encode($client instanceof Memcached ? $client->getServerList() : $client->getExtendedStats());
        return new static($servers, $prefix, $timeout, $onFailure, $denialCache, $denialCacheMaxAge, $takeAhead);
    }
}

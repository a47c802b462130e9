<?php

declare(strict_types=1);

use TokenBucket\OnFailure;
use TokenBucket\Polyfill;

/** Throws, or keeps buckets of this host if a setting permits that. */
class TokenBucketStoragePDO implements TokenBucketStorage
{
    use Polyfill\StorageMethods;

    public function __construct(
        PDO $db,
        string $table,
        OnFailure $onFailure = OnFailure::Throw,
        bool $denialCache = true,
        float $denialCacheMaxAge = 1.0,
        float $takeAhead = 0.0
    ) {
        Polyfill\Remote::check(self::class, [5 => ['denialCacheMaxAge', $denialCacheMaxAge, 3600], 6 => ['takeAhead', $takeAhead, 1]]);
        Polyfill\Remote::give($this, $table);
    }

    /** Does nothing, because the file needs no purge. */
    public function purge(float $full_microtime): int
    {
        return 0;
    }
}

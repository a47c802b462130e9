<?php

declare(strict_types=1);

use TokenBucket\Polyfill;

/** Keeps buckets in a file that all processes of this user and application share on this host. */
final readonly class TokenBucketStorageSharedMemory implements TokenBucketStorage
{
    use Polyfill\StorageMethods;

    private string $namespace;

    public function __construct(string $namespace = '')
    {
        if (isset($this->namespace)) {
            throw new Error(self::class . ' has already been constructed');
        }
        $this->namespace = $namespace;
        Polyfill\Home::give($this, Polyfill\Home::shared($namespace));
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Refuses serialisation as the extension's classes do. */
trait NotSerialized
{
    public function __serialize(): array
    {
        throw new \Exception("Serialization of '" . static::class . "' is not allowed");
    }

    public function __unserialize(array $data): void
    {
        throw new \Exception("Unserialization of '" . static::class . "' is not allowed");
    }
}

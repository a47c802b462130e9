<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Refuses copies as the extension's classes do. */
trait NotCopied
{
    use NotSerialized;

    public function __clone()
    {
        throw new \Error('Trying to clone an uncloneable object of class ' . static::class);
    }
}

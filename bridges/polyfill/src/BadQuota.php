<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Reports a capacity and a rate that are not a quota. Never leaves this package. */
final class BadQuota extends \Exception
{
    public const CAPACITY = 'bucket_capacity';
    public const RATE = 'tokens_per_second';

    /** @param self::CAPACITY|self::RATE $place */
    public function __construct(public readonly string $place, string $message)
    {
        parent::__construct($message);
    }
}

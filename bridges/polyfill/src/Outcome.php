<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The result of a step: the reason, its instant, and the bucket's state after it, in ticks. */
final class Outcome
{
    public const GRANTED = 'granted';
    public const INSUFFICIENT = 'insufficient_tokens';
    public const EXCEEDS = 'exceeds_capacity';
    public const BELOW_FLOOR = 'below_floor';
    public const INTERRUPTED = 'interrupted';

    public function __construct(public readonly string $reason, public readonly int $now, public readonly int $emptyAt) {}

    public function isGranted(): bool
    {
        return $this->reason === self::GRANTED;
    }
}

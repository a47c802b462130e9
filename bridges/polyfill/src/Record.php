<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The record of one bucket, in ticks. */
final class Record
{
    /**
     * @param int $emptyAt the instant at which the bucket was, or will be, empty
     * @param int $span the ticks from then until the bucket is full: the greatest span of the steps
     *     that took from it
     */
    public function __construct(public readonly int $emptyAt, public readonly int $span) {}

    /** Reports whether the bucket is full, so that it needs no record. */
    public function isEnded(int $now): bool
    {
        return $this->emptyAt + $this->span <= $now;
    }
}

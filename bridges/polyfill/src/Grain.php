<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The resolution of a store's times. Every cost and span is a multiple of it. */
enum Grain
{
    case Nanosecond;

    /** The grain of stores that several hosts share. */
    case Microsecond;

    /**
     * A nanosecond of a clock that only a test advances. Up to a million tokens a second, costs are
     * rounded down, so that the tokens of a minute are back after a minute.
     */
    case FakeNanosecond;

    /** Returns the grain in ticks, which are nanoseconds. */
    public function ticks(): int
    {
        return $this === self::Microsecond ? 1000 : 1;
    }
}

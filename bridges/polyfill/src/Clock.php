<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The clocks of the host. Tests replace them. */
class Clock
{
    /** Returns nanoseconds of a clock that never goes back, until the host starts again. */
    public function monotonic(): int
    {
        return hrtime(true);
    }

    /** Returns microseconds of the wall clock, which may be set. */
    public function wall(): int
    {
        return (int) (microtime(true) * 1e6);
    }
}

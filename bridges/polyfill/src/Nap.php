<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** A sleep of the process that ends early if a signal arrives that PHP must handle. */
final class Nap
{
    /**
     * The longest single sleep: a tenth of a second. A signal that arrives right before a sleep is
     * handled only after it.
     */
    private const SLICE = Quota::SECOND / 10;

    /** Sleeps for $ticks ticks. Returns false if a signal ended the sleep, after its handler. */
    public static function take(int $ticks): bool
    {
        while ($ticks > 0) {
            $slice = min($ticks, self::SLICE);
            $ticks -= $slice;
            if (!self::sleep($slice)) {
                return false;
            }
        }
        return true;
    }

    /**
     * A handler that throws right after the sleep would make PHP free a value twice. So handlers
     * run in a call of their own.
     */
    private static function sleep(int $ticks): bool
    {
        $isAsync = function_exists('pcntl_async_signals') && pcntl_async_signals(false);
        $left = time_nanosleep(0, $ticks);
        if ($isAsync) {
            pcntl_async_signals(true);
            pcntl_signal_dispatch();
        }
        return !is_array($left);
    }
}

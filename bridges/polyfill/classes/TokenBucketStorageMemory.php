<?php

declare(strict_types=1);

use TokenBucket\Polyfill;

/** Keeps buckets in this object, for tests. The clock moves only by advance() and wait(). */
final readonly class TokenBucketStorageMemory implements TokenBucketStorage
{
    use Polyfill\StorageMethods;

    public function __construct()
    {
        Polyfill\Home::give($this, Polyfill\Home::memory());
    }

    public function advance(float $seconds): void
    {
        $argument = new Polyfill\Argument(self::class . '::advance', 1, 'seconds');
        $argument->amount($seconds);
        $ticks = Polyfill\Seconds::toTicks($seconds);
        if ($ticks >= Polyfill\Quota::MOST) {
            throw $argument->invalid('must be less than 2^60 nanoseconds (36 years)');
        }
        if ($ticks > $this->home()->store->left()) {
            throw $argument->invalid('must not advance the clock by more than 109 years in all');
        }
        $this->home()->store->advance($ticks);
    }

    public function now(): float
    {
        return Polyfill\Seconds::fromTicks($this->home()->store->now() - Polyfill\Quota::MOST);
    }

    /**
     * Returns the seconds since an instant, by this object's clock or the wall clock. Uses the
     * clock whose time is nearer to the instant.
     */
    private function secondsSince(float $microtime): float
    {
        [$own, $wall] = [$this->now() - $microtime, microtime(true) - $microtime];
        // The wall clock advances while PHP code computes the instant, and a float is coarse.
        return abs($own) <= abs($wall) ? $own : $wall + 1e-6;
    }
}

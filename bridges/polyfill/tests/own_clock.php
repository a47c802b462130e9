<?php

use TokenBucket\Polyfill\Clock;
use TokenBucket\Polyfill\FileStore;
use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\Outcome;
use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Step;

/** Clocks of a host that move only when a test moves them. */
final class OwnClock extends Clock
{
    public int $monotonic = 5 * Quota::SECOND;
    public int $wall = 1_700_000_000_000_000;
    /** The seconds for which another process runs before the wall clock is read. */
    public int $pause = 0;

    public function monotonic(): int
    {
        return $this->monotonic;
    }

    public function wall(): int
    {
        $this->pass($this->pause);
        return $this->wall;
    }

    /** Lets time pass on both clocks. */
    public function pass(float $seconds): void
    {
        $this->monotonic += (int) ($seconds * Quota::SECOND);
        $this->wall += (int) ($seconds * 1e6);
    }
}

/** Opens the file as another process would, and returns its buckets. */
function opened(string $folder, Clock $clock, string $name = 'buckets'): Home
{
    return new Home(new FileStore($folder, $name, $clock));
}

/** Takes tokens of a bucket that holds ten and gains one a second. */
function take(Home $home, string $identifier, int $tokens = 1): Outcome
{
    return $home->take($identifier, new Step($tokens * Quota::SECOND, 10 * Quota::SECOND));
}

/** Returns the tokens that such a bucket holds. */
function tokens_of(Home $home, string $identifier): float
{
    $step = new Step(0, 10 * Quota::SECOND, 0, true);
    return $step->available($home->take($identifier, $step)) / Quota::SECOND;
}

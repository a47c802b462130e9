<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;

/** The time at which reserved tokens may be used. Replaces Symfony's class of this name. */
final class Reservation
{
    /** @param float $timeToAct a Unix timestamp in seconds */
    public function __construct(private readonly float $timeToAct, private readonly SymfonyRateLimit $rateLimit)
    {
    }

    public function getTimeToAct(): float
    {
        return $this->timeToAct;
    }

    public function getWaitDuration(): float
    {
        return max(0.0, $this->timeToAct - microtime(true));
    }

    public function getRateLimit(): SymfonyRateLimit
    {
        return $this->rateLimit;
    }

    /** Sleeps until the tokens may be used. A signal ends a sleep, but not the wait. */
    public function wait(): void
    {
        $end = hrtime(true) + $this->getWaitDuration() * 1e9;
        while (($left = $end - hrtime(true)) > 0) {
            usleep((int) ceil($left / 1000));
        }
    }
}

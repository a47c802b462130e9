<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/** Records the delays of the reservations of another limiter. */
final class RecordingLimiter implements LimiterInterface
{
    /** @var list<array{float, float}> the least and the most seconds of each delay that is not 0 */
    public array $delays = [];

    public function __construct(private readonly LimiterInterface $limiter)
    {
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        $before = microtime(true);
        $reservation = $this->limiter->reserve($tokens, $maxTime);
        $after = microtime(true);
        if ($reservation->getTimeToAct() > $after) {
            $this->delays[] = [$reservation->getTimeToAct() - $after, $reservation->getTimeToAct() - $before];
        }
        return $reservation;
    }

    public function consume(int $tokens = 1): RateLimit
    {
        return $this->limiter->consume($tokens);
    }

    public function reset(): void
    {
        $this->limiter->reset();
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Closure;
use DateTimeImmutable;
use Illuminate\Contracts\Cache\Repository;
use LogicException;
use Throwable;
use TokenBucket;
use TokenBucket\Period;
use TokenBucket\Quota;
use TokenBucketStorage;
use TokenBucketStorageMemory;
use TokenBucketStorageSharedMemory;
use ValueError;

/**
 * Finds the bucket of a limit whose numbers may be computed for each request.
 *
 * As in Laravel, the first hit begins a window of its decay time, and its decay time counts until
 * this window ends. Also the attempts of later hits count only if they are fewer. If the window
 * ends at a date, or if later hits have the same instant as their end, nothing is refilled until
 * then.
 *
 * Laravel's cache keeps the first numbers. Shared memory keeps that they are equal to the numbers
 * of a call, so that a limit with constant numbers uses the cache once in a window.
 */
final class FirstNumbers
{
    /** The end of the names of cache items. No cleaned key has this end. */
    private const ITEM = '<bucket>';
    private const FIXED = '<fixed>';
    /** The greatest differences between two computations of one instant, in seconds. */
    private const ROUNDINGS = [86400, 3600, 60, 1];

    /**
     * @param Closure(): Repository $makeCache
     * @param Closure(): TokenBucketStorage $makeStorage
     */
    public function __construct(private readonly Closure $makeCache, private readonly Closure $makeStorage)
    {
    }

    /**
     * Returns the bucket of an identifier.
     *
     * @param bool $isDate true if a date states the seconds
     * @param bool $begins true if the call may begin a window
     * @param Closure(int, int|float): TokenBucket $refilled makes the bucket of attempts and
     *     seconds
     */
    public function bucket(string $identifier, int $attempts, int|float $seconds, bool $isDate, bool $begins, Closure $refilled): TokenBucket
    {
        if ($attempts < 1 || $seconds <= 0) {
            return $refilled($attempts, $seconds);
        }
        $call = [$attempts, $seconds, $this->now() + $seconds, $isDate];
        if (!$isDate && $this->memo($identifier, $call)->peek()->reason === 'insufficient_tokens') {
            return $refilled($attempts, $seconds);
        }
        try {
            $first = $this->first($identifier, $call, $begins);
            $fixed = match (true) {
                $first[3] => $this->until($first[2], $identifier, min($attempts, $first[0]), $first[1]),
                $isDate || self::isSameInstant($call, $first) => $this->fix($identifier, $first, $refilled),
                default => null,
            };
        } catch (Throwable) {
            // The limit does not depend on the cache.
            $first = $call;
            $fixed = $isDate ? $this->until($call[2], $identifier, $attempts, $seconds) : null;
        }
        return $fixed ?? $refilled(min($attempts, $first[0]), $first[1]);
    }

    /**
     * Returns the first attempts and seconds of an identifier, or null if they are unknown.
     *
     * @return null|array{int, int|float}
     */
    public function known(string $identifier): ?array
    {
        $first = $this->stored($identifier);
        return $first === null ? null : [$first[0], $first[1]];
    }

    /** Keeps the first numbers until a bucket is full. */
    public function keep(string $identifier, float $secondsUntilFull): void
    {
        $first = $this->stored($identifier);
        if ($first !== null && !$first[3] && $this->now() + $secondsUntilFull > $first[2]) {
            $this->cache()->put($identifier . self::ITEM, $first, self::lifetime($secondsUntilFull));
        }
    }

    /** Fills the bucket of a window that is not refilled. The caller fills the other one. */
    public function fill(string $identifier, bool $endsWindow): void
    {
        $first = $this->stored($identifier);
        if ($first === null) {
            return;
        }
        $this->until($first[2], $identifier, $first[0], $first[1])?->reset();
        if ($endsWindow) {
            $this->memo($identifier, $first)->reset();
            $this->cache()->forget($identifier . self::ITEM);
            $this->cache()->forget($identifier . self::FIXED);
        }
    }

    /**
     * Returns the numbers with which the current window began.
     *
     * @param array{int, int|float, float, bool} $call
     * @return array{int, int|float, float, bool}
     */
    private function first(string $identifier, array $call, bool $begins): array
    {
        $first = $this->stored($identifier);
        if ($first === null || $first[2] <= $this->now()) {
            if (!$begins) {
                return $call;
            }
            $item = $identifier . self::ITEM;
            if ($first !== null) {
                $this->cache()->put($item, $call, self::lifetime($call[1]));
            } elseif (!$this->cache()->add($item, $call, self::lifetime($call[1]))) {
                $first = $this->stored($identifier);
            }
            $first = $first === null || $first[2] <= $this->now() ? $call : $first;
        }
        if (!$first[3] && [$first[0], $first[1]] === [$call[0], $call[1]]) {
            $this->memo($identifier, $first)->block($first[2] - $this->now());
        }
        return $first;
    }

    /** Ends the refill of a window. The tokens that it has granted still count. */
    private function fix(string $identifier, array $first, Closure $refilled): ?TokenBucket
    {
        $fixed = $this->until($first[2], $identifier, $first[0], $first[1]);
        $seconds = $first[2] - $this->now();
        if ($fixed === null || !$this->cache()->add($identifier . self::FIXED, true, self::lifetime($seconds))) {
            return null;
        }
        $decision = $refilled($first[0], $first[1])->peek();
        // Less than a token has been refilled since the last call.
        $fixed->charge(max(0, (int) ceil($decision->capacity - $decision->remaining)));
        $this->cache()->put($identifier . self::ITEM, [3 => true] + $first, self::lifetime($seconds));
        return $fixed;
    }

    /** Reports whether a later call with other seconds ends at the same instant. */
    private static function isSameInstant(array $call, array $first): bool
    {
        foreach (self::ROUNDINGS as $rounding) {
            if (fmod($call[1], $rounding) === 0.0 && fmod($first[1], $rounding) === 0.0) {
                break;
            }
        }
        return $call[1] < $first[1] && abs($call[2] - $first[2]) <= ($rounding > 1 ? $rounding - 1 : 1);
    }

    /** Returns a quota whose window ends at an instant, or null if no window is as long. */
    private function until(float $end, string $identifier, int $attempts, int|float $seconds): ?Quota
    {
        $end = (int) ceil($end);
        $period = match (true) {
            $seconds <= 60 => Period::Minute,
            $seconds <= 3600 => Period::Hour,
            $seconds <= 86400 => Period::Day,
            $seconds <= 7 * 86400 => Period::Week,
            $seconds <= 28 * 86400 => Period::Month,
            $seconds <= 365 * 86400 => Period::Year,
            default => null,
        };
        try {
            return $period === null ? null : new Quota(($this->makeStorage)(), "until:$end:$identifier", max(1, $attempts), $period, new DateTimeImmutable("@$end"));
        } catch (LogicException|ValueError) {
            // A storage that is written in PHP, or more attempts than a window has microseconds.
            return null;
        }
    }

    /** Returns a bucket that is blocked while the first numbers are those of a call. */
    private function memo(string $identifier, array $call): TokenBucket
    {
        $storage = ($this->makeStorage)();
        if (!$storage instanceof TokenBucketStorageMemory && !$storage instanceof TokenBucketStorageSharedMemory) {
            $storage = new TokenBucketStorageSharedMemory('tokenbucket-laravel-' . md5(__DIR__));
        }
        return new TokenBucket($storage, "first:$call[0]:$call[1]:$identifier", 1, 1e6);
    }

    /** Returns the Unix time of the storage. */
    private function now(): float
    {
        $storage = ($this->makeStorage)();
        return $storage instanceof TokenBucketStorageMemory ? $storage->now() : microtime(true);
    }

    /** @return null|array{int, int|float, float, bool} attempts, seconds, end, and if it is fixed */
    private function stored(string $identifier): ?array
    {
        $first = $this->cache()->get($identifier . self::ITEM);
        return is_array($first) && count($first) === 4 ? $first : null;
    }

    private static function lifetime(int|float $seconds): int
    {
        return (int) max(1, min(Buckets::MAX_SECONDS, ceil($seconds)));
    }

    private function cache(): Repository
    {
        return ($this->makeCache)();
    }
}

<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use DateTimeImmutable;
use DateTimeZone;
use Exception;
use TokenBucket\Period;
use TokenBucket\Quota;
use TokenBucketStorage;
use ValueError;

/** The decay times whose limits are quotas: windows of the calendar, each of which starts full. */
final class Windows
{
    private const SECONDS = ['minute' => 60, 'hour' => 3600, 'day' => 86400, 'week' => 604800];
    /** An instant at which windows of all periods begin: a Monday at midnight. */
    private const START = '2024-01-01';

    /** @var array<int, Period> periods by their seconds */
    private readonly array $periods;
    private readonly DateTimeImmutable $anchor;

    /**
     * @param string|array<string> $names of periods: minute, hour, day and week. A string has commas
     * @param string $zone the time zone in which days and weeks begin. PHP may not know it, for
     *     example if it is empty. Then they begin in PHP's default time zone, which Laravel uses
     * @throws ValueError for another period
     */
    public function __construct(array|string $names = [], string $zone = 'UTC')
    {
        $periods = [];
        foreach (is_array($names) ? $names : preg_split('/[\s,]+/', $names, flags: PREG_SPLIT_NO_EMPTY) as $name) {
            $seconds = self::SECONDS[$name] ?? throw new ValueError("The setting tokenbucket.windows in config/tokenbucket.php may have minute, hour, day and week, not \"$name\"");
            $periods[$seconds] = constant(Period::class . '::' . ucfirst($name));
        }
        $this->periods = $periods;
        $this->anchor = new DateTimeImmutable(self::START, self::zone($zone));
    }

    /** Returns the quota of a limit, or null if the limit is a bucket. */
    public function quota(TokenBucketStorage $storage, string $identifier, int $attempts, int|float $seconds): ?Quota
    {
        // attempt() passes the seconds until a date as a fraction, because a date is not a window.
        return is_int($seconds) && isset($this->periods[$seconds]) ? $this->of($this->periods[$seconds], $storage, $identifier, $attempts) : null;
    }

    /** Fills all quotas with an identifier. */
    public function reset(TokenBucketStorage $storage, string $identifier): void
    {
        foreach ($this->periods as $period) {
            $this->of($period, $storage, $identifier, 1)->reset();
        }
    }

    private static function zone(string $name): DateTimeZone
    {
        try {
            return new DateTimeZone($name);
        } catch (Exception) {
            return new DateTimeZone(date_default_timezone_get());
        }
    }

    private function of(Period $period, TokenBucketStorage $storage, string $identifier, int $attempts): ?Quota
    {
        // Another period or zone has windows of its own.
        $name = "window:$period->name:{$this->anchor->getTimezone()->getName()}:$identifier";
        try {
            return new Quota($storage, $name, $attempts, $period, $this->anchor);
        } catch (ValueError) {
            // A window has fewer microseconds than this limit, which means "unlimited".
            return null;
        }
    }
}

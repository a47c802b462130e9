<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Period;

/** The windows of a quota, which begin at a time of day in a time zone. Times are Unix times. */
final class Calendar
{
    private const DAY = 86_400;
    /** Clocks are set forward by three hours at most, in Antarctica/Casey. */
    private const FORWARD = 3 * 3600;

    /** @var \WeakMap<\TokenBucket\Quota, self>|null */
    private static ?\WeakMap $calendars = null;

    /** @var array{int, int, int, int} the starts that were computed last, as in Windows */
    private array $starts = [0, 0, 0, 0];

    private readonly \DateTimeZone $zone;

    private function __construct(private readonly Store $store, private readonly Period $period, private readonly \DateTimeImmutable $anchor)
    {
        $this->zone = $anchor->getTimezone();
    }

    /** Returns the calendar of a quota, which may be a clone. Reads its private properties. */
    public static function of(\TokenBucket\Quota $quota): self
    {
        self::$calendars ??= new \WeakMap();
        return self::$calendars[$quota] ??= new self(
            Home::of(\Closure::bind(fn () => $this->_storage, $quota, \TokenBucket::class)())->store,
            ...\Closure::bind(fn () => [$this->_period, $this->_anchor], $quota, $quota)(),
        );
    }

    /** @throws BadQuota if the limit is out of range */
    public static function counting(Period $period, int $limit): Quota
    {
        return Quota::counting($limit, match ($period) {
            Period::Minute => 60,
            Period::Hour => 3600,
            Period::Day => self::DAY - self::FORWARD,
            Period::Week => 7 * self::DAY - self::FORWARD,
            Period::Month => 28 * self::DAY - self::FORWARD,
            Period::Year => 365 * self::DAY - self::FORWARD,
        });
    }

    /** Returns the average length of a window in seconds. */
    public static function average(Period $period): float
    {
        return match ($period) {
            Period::Minute => 60.0,
            Period::Hour => 3600.0,
            Period::Day => 86_400.0,
            Period::Week => 604_800.0,
            Period::Month => 2_629_746.0,
            Period::Year => 31_556_952.0,
        };
    }

    public function quota(int $limit): Quota
    {
        return self::counting($this->period, $limit);
    }

    /** Returns the windows $later ticks from now. */
    public function windows(int $later = 0): Windows
    {
        $starts = $this->starts(intdiv($this->store->unixTime() + $later, Quota::SECOND));
        return new Windows(array_map(static fn (int $start) => $start * Quota::SECOND, $starts));
    }

    /** @return array{int, int} the start and the end of the window at an instant, or now */
    public function window(?int $at): array
    {
        return array_slice($this->starts($at ?? intdiv($this->store->unixTime(), Quota::SECOND)), 1, 2);
    }

    /** @return array{int, int, int, int} */
    private function starts(int $now): array
    {
        if ($now < $this->starts[1] || $now >= $this->starts[2]) {
            $this->starts = $this->around($now);
        }
        return $this->starts;
    }

    /** @return array{int, int, int, int} the starts around an instant */
    private function around(int $now): array
    {
        if ($this->period === Period::Minute || $this->period === Period::Hour) {
            $unit = $this->period === Period::Minute ? 60 : 3600;
            $start = $now - self::modulo($now - $this->anchor->getTimestamp(), $unit);
            return [$start - $unit, $start, $start + $unit, $start + 2 * $unit];
        }
        $today = self::utc($now + $this->offsetAt($now));
        // The window of today's date is the right one, unless it begins later today, or unless the
        // clocks were set back over its start.
        for ($number = 0; $this->start($today, $number) > $now;) {
            $number--;
        }
        while ($this->start($today, $number + 1) <= $now) {
            $number++;
        }
        return array_map(fn (int $after) => $this->start($today, $number + $after), [-1, 0, 1, 2]);
    }

    /** Returns the start of the window $number windows after the one that contains a date. */
    private function start(\DateTimeImmutable $today, int $number): int
    {
        [$year, $month, $day, $weekday] = self::numbers($today, 'Y,n,j,N');
        [$first, $its, $hour, $minute, $second] = self::numbers($this->anchor, 'N,n,G,i,s');
        $date = match ($this->period) {
            Period::Day => $today->setDate($year, $month, $day + $number),
            Period::Week => $today->setDate($year, $month, $day - self::modulo($weekday - $first, 7) + 7 * $number),
            Period::Month => $this->onDay($today->setDate($year, $month + $number, 1)),
            Period::Year => $this->onDay($today->setDate($year + $number, $its, 1)),
        };
        return $this->instant($date->setTime($hour, $minute, $second)->getTimestamp());
    }

    /** Returns the anchor's day of a month, or the last day of a shorter month. */
    private function onDay(\DateTimeImmutable $first): \DateTimeImmutable
    {
        $day = min((int) $this->anchor->format('j'), (int) $first->format('t'));
        return $first->modify('+' . ($day - 1) . ' days');
    }

    /**
     * Returns the instant of a local time, which is given as if it were UTC. If the time occurs
     * twice because the clocks are set back, returns the first one. If the clocks skip it, returns
     * the instant at which clocks that were not set would show it.
     */
    private function instant(int $local): int
    {
        [$earlier, $later] = [$this->offsetAt($local - self::DAY), $this->offsetAt($local + self::DAY)];
        $isEarlier = $earlier === $later || $this->offsetAt($local - $earlier) === $earlier;
        return $isEarlier || $this->offsetAt($local - $later) !== $later ? $local - $earlier : $local - $later;
    }

    private function offsetAt(int $instant): int
    {
        return $this->zone->getOffset(self::utc($instant));
    }

    private static function utc(int $instant): \DateTimeImmutable
    {
        return new \DateTimeImmutable("@$instant");
    }

    /** @return list<int> the numbers of a date in this format, in which commas separate them */
    private static function numbers(\DateTimeImmutable $date, string $format): array
    {
        return array_map(intval(...), explode(',', $date->format($format)));
    }

    private static function modulo(int $number, int $divisor): int
    {
        return ($number % $divisor + $divisor) % $divisor;
    }
}

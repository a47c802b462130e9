--TEST--
The windows of a quota equal a naive calendar at every change of clocks from 2020 to 2040
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Period;
use TokenBucket\Quota;

/** A calendar that finds the start of a date by trying every quarter of an hour. */
final class NaiveCalendar
{
    private array $starts = [];

    public function __construct(private readonly DateTimeZone $zone)
    {
    }

    /** Returns the first instant of a local date. */
    public function start(string $date): int
    {
        return $this->starts[$date] ??= $this->first($date);
    }

    private function first(string $date): int
    {
        $instant = strtotime("$date 00:00:00 UTC") - 16 * 3600;
        $local = new DateTimeImmutable('@0');
        $local = $local->setTimezone($this->zone);
        while ($local->setTimestamp($instant)->format('Y-m-d') < $date) {
            $instant += 900;
        }
        return $instant;
    }

    /** Returns the dates on which windows begin, in years around an instant. The anchor is
    2024-01-31. */
    public function dates(Period $period, int $instant): array
    {
        $year = (int) gmdate('Y', $instant);
        $days = fn (int $from, int $to, int $step): array => array_map(
            fn (int $day): string => gmdate('Y-m-d', $day * 86400),
            range($from, $to, $step),
        );
        $today = intdiv($instant, 86400);
        $anchor = intdiv(strtotime('2024-01-31 UTC'), 86400);
        switch ($period) {
            case Period::Day:
                return $days($today - 3, $today + 3, 1);
            case Period::Week:
                $week = $today - ($today - $anchor) % 7;
                return $days($week - 21, $week + 21, 7);
            case Period::Month:
                $dates = [];
                foreach (range($year - 1, $year + 1) as $y) {
                    foreach (range(1, 12) as $month) {
                        $dates[] = sprintf('%04d-%02d-%02d', $y, $month, min(31, (int) gmdate('t', gmmktime(0, 0, 0, $month, 1, $y))));
                    }
                }
                return $dates;
            default:
                return array_map(fn (int $y): string => "$y-01-31", range($year - 2, $year + 2));
        }
    }

    public function window(Period $period, int $instant): array
    {
        $starts = array_map($this->start(...), array_filter(
            $this->dates($period, $instant),
            fn (string $date): bool => abs(strtotime("$date UTC") - $instant) < 370 * 86400,
        ));
        $before = array_filter($starts, fn (int $start): bool => $start <= $instant);
        $after = array_filter($starts, fn (int $start): bool => $start > $instant);
        return [max($before), min($after)];
    }
}

$periods = [Period::Day, Period::Week, Period::Month, Period::Year];
$storage = new TokenBucketStorageMemory;
$from = gmmktime(0, 0, 0, 1, 1, 2020);
$to = gmmktime(0, 0, 0, 1, 1, 2041);
$transitions = $wrong = 0;
$shortest = array_fill_keys(array_column($periods, 'name'), PHP_INT_MAX);
// Control: counts the windows whose start would be wrong if each day had exactly 86,400 seconds.
$fixed_is_wrong = 0;
foreach (DateTimeZone::listIdentifiers() as $name) {
    $zone = new DateTimeZone($name);
    $changes = array_slice($zone->getTransitions($from, $to), 1);
    // Zones with the same changes have the same windows, so one of these zones is enough.
    $rule = json_encode(array_map(fn (array $change): array => [$change['ts'], $change['offset']], $changes));
    if (isset($rules[$rule])) {
        continue;
    }
    $rules[$rule] = true;
    $naive = new NaiveCalendar($zone);
    $anchor = new DateTimeImmutable('2024-01-31 00:00', $zone);
    $quotas = array_map(fn (Period $period) => new Quota($storage, $name, 1, $period, $anchor), $periods);
    foreach ($changes as ['ts' => $change]) {
        $transitions++;
        foreach ([-86400, -1, 0, 3600, 86400] as $seconds) {
            $at = (new DateTimeImmutable)->setTimestamp($change + $seconds);
            foreach ($periods as $index => $period) {
                [$start, $end] = $quotas[$index]->window($at);
                $found = [$start->getTimestamp(), $end->getTimestamp()];
                $expected = $naive->window($period, $change + $seconds);
                if ($found !== $expected && $wrong++ < 5) {
                    echo "$name, $period->name, ", $at->format('c'), ': ', json_encode($found), ' not ', json_encode($expected), "\n";
                }
                $shortest[$period->name] = min($shortest[$period->name], $found[1] - $found[0]);
                if ($period === Period::Day) {
                    $fixed_is_wrong += (int) (($found[0] - $anchor->getTimestamp()) % 86400 !== 0);
                }
            }
        }
    }
}
check($transitions > 1000, "$transitions changes of clocks");
check($fixed_is_wrong > 1000, "the control is wrong $fixed_is_wrong times");
print_values($wrong);
// The greatest limit of a period is the number of microseconds in its shortest window.
foreach ($periods as $period) {
    $hours = match ($period) {
        Period::Day => 24, Period::Week => 168, Period::Month => 28 * 24, default => 365 * 24,
    };
    $least = ($hours - 3) * 3600;
    check($shortest[$period->name] >= $least, "$period->name: {$shortest[$period->name]}");
    new Quota($storage, 'x', $least * 1_000_000, $period);
    check(str_contains(thrown(fn () => new Quota($storage, 'x', $least * 1_000_000 + 1, $period)), '$limit'), $period->name);
}
print_values($shortest['Day'] / 3600);
?>
--EXPECT--
0
21

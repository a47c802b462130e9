<?php
/** How rows that are measured in rounds are printed: a line each, in microseconds, with ratios taken round by round. */

/** Over the rounds: the median, the least and the most. */
function spread(array $values, string $format): string
{
    return vsprintf($format, array_map(fn (float $part) => quantile($values, $part), [0.5, 0, 1]));
}

/** What the row costs, without the end of the line. */
function figures(Row $row): string
{
    $micros = array_map(fn (float $nanos) => $nanos / 1000, $row->samples);
    return sprintf('%-41s %s', $row->name, spread($micros, '%8.2f %8.2f to %7.2f'));
}

/** @param ?float $target what the ratio to the floor must not exceed */
function report(Row $row, ?Row $floor = null, ?float $target = null): void
{
    echo figures($row);
    if ($floor !== null) {
        printf('  %s x %s', spread($row->ratios($floor, 0), '%7.3f (%.3f to %.3f)'), $floor->name);
        if ($target !== null) {
            printf(': target %.2f %s', $target, $row->ratio($floor, 0) <= $target ? 'met' : 'MISSED');
        }
    }
    echo "\n";
}

/** Ours beside what it takes the place of. */
function report_rival(Row $row, Row $rival): void
{
    $verdict = $row->ratio($rival, 0) < 1 ? 'faster' : 'SLOWER';
    printf("%s  %s: %s\n", figures($row), spread($row->ratios($rival, 0), '%7.3f (%.3f to %.3f)'), $verdict);
}

function title(string $title): void
{
    printf("\n%-41s %8s %19s  %s\n", $title, 'µs', 'least to most', 'ratio, least to most');
}

/** The processor that this process may use, for all that it starts uses the same. */
function processors(): string
{
    preg_match('/^Cpus_allowed_list:\s*(.*)$/m', file_get_contents('/proc/self/status'), $found);
    return $found[1];
}

<?php
/** How rows that are measured in rounds are printed: a line each, in microseconds, with ratios taken round by round. */
require_once __DIR__ . '/record.inc.php';

/** Over the rounds: the median, the least and the most. */
function spread(array $values, string $format): string
{
    return vsprintf($format, of_rounds($values));
}

/** @return array{float, float, float} the median, the least and the most */
function of_rounds(array $values): array
{
    return quantiles($values, [0.5, 0, 1]);
}

/** @return array<string, mixed> the same of a row and its ratio, as it is kept */
function kept(Row $row, ?Row $beside): array
{
    $figures = ['ns' => of_rounds($row->samples)];
    if ($beside !== null) {
        $figures += ['beside' => $beside->name, 'beside_ns' => of_rounds($beside->samples), 'ratio' => of_rounds($row->ratios($beside, 0))];
    }
    return $figures;
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
    $figures = kept($row, $floor);
    if ($floor !== null) {
        printf('  %s x %s', spread($row->ratios($floor, 0), '%7.3f (%.3f to %.3f)'), $floor->name);
        if ($target !== null) {
            $met = $row->ratio($floor, 0) <= $target;
            printf(': target %.2f %s', $target, $met ? 'met' : 'MISSED');
            $figures += ['target' => $target, 'met' => $met];
        }
    }
    echo "\n";
    Record::row($row->name, $figures);
}

/** Ours beside what it takes the place of. */
function report_rival(Row $row, Row $rival): void
{
    $verdict = $row->ratio($rival, 0) < 1 ? 'faster' : 'SLOWER';
    printf("%s  %s: %s\n", figures($row), spread($row->ratios($rival, 0), '%7.3f (%.3f to %.3f)'), $verdict);
    Record::row($row->name, kept($row, $rival) + ['rival' => true]);
}

function title(string $title): void
{
    Record::title($title);
    printf("\n%-41s %8s %19s  %s\n", $title, 'µs', 'least to most', 'ratio, least to most');
}

/** The processor that this process may use, for all that it starts uses the same. */
function processors(): string
{
    preg_match('/^Cpus_allowed_list:\s*(.*)$/m', file_get_contents('/proc/self/status'), $found);
    return $found[1];
}

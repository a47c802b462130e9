<?php
/** Formats figures for tables and charts. */

/** Returns nanoseconds as microseconds, with three digits. */
function micros(int|float $nanos): string
{
    $micros = $nanos / 1000;
    return match (true) {
        $micros >= 100 => number_format($micros),
        $micros >= 10 => sprintf('%.1f', $micros),
        $micros >= 1 => sprintf('%.2f', $micros),
        default => sprintf('%.3f', $micros),
    };
}

/** @param list<int|float> $values shown as one number if all are equal, else as "least to most" */
function range_of(array $values): string
{
    return min($values) === max($values) ? number_format(max($values)) : number_format(min($values)) . ' to ' . number_format(max($values));
}

/** @return list<string> the limiters of a store, fastest first */
function limiters_of(array $rows, string $home): array
{
    $granted = array_filter($rows, fn (array $row) => $row['program'] === 'peers' && $row['title'] === $home && str_ends_with($row['name'], ', granted'));
    usort($granted, fn (array $one, array $other) => $one['ns'][0] <=> $other['ns'][0]);
    return array_map(fn (array $row) => substr($row['name'], 0, -strlen(', granted')), $granted);
}

/** @return array<string, mixed> the row with this program, title and name */
function row(array $rows, string $program, ?string $title, string $name): array
{
    foreach ($rows as $row) {
        if ($row['program'] === $program && ($title === null || $row['title'] === $title) && $row['name'] === $name) {
            return $row;
        }
    }
    throw new RuntimeException("There is no row $program: $title, $name");
}

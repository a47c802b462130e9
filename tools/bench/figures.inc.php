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

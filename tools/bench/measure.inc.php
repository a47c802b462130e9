<?php
/** Measures statements in a random order, in rounds. Prints and saves a line for each statement. */
require_once __DIR__ . '/record.inc.php';

/** One line of a benchmark: a statement and the times of its samples. */
final class Row
{
    /**
     * The copies of the statement in one turn of the loop, so that the loop itself takes little of
     * the time.
     */
    private const UNROLLED = 20;

    /** @var list<float> the nanoseconds of a call, by sample */
    public array $samples = [];
    public int $calls = 0;
    private readonly Closure $run;

    /**
     * @param string $statement the code. It may use $at, which continues from sample to sample
     * @param array<string, mixed> $variables the other variables that the code uses
     * @param int $turns the turns of the loop in one sample
     */
    public function __construct(
        public readonly string $name,
        string $statement,
        array $variables = [],
        private readonly int $turns = 50,
    ) {
        extract($variables);
        $use = $variables === [] ? '' : 'use ($' . implode(', $', array_keys($variables)) . ')';
        $this->run = eval("return static function (int \$turns, int \$at) $use {
            \$start = hrtime(true);
            for (\$turn = 0; \$turn < \$turns; \$turn++) {
                " . str_repeat("$statement;\n", self::UNROLLED) . '
            }
            return hrtime(true) - $start;
        };');
    }

    public function sample(): void
    {
        $this->samples[] = ($this->run)($this->turns, $this->calls) / ($this->turns * self::UNROLLED);
        $this->calls += $this->turns * self::UNROLLED;
    }

    /** @return list<float> the ratio of each round */
    public function ratios(self $other): array
    {
        return array_map(fn (float $mine, float $others): float => $mine / $others, $this->samples, $other->samples);
    }

    /** Replaces the samples of each round by their quantile $part. */
    public function gather(int $rounds, float $part): void
    {
        $of_round = array_chunk($this->samples, intdiv(count($this->samples), $rounds));
        $this->samples = array_map(fn (array $samples) => quantiles($samples, [$part])[0], $of_round);
    }
}

function must(bool $holds, string $what): void
{
    if (!$holds) {
        fwrite(STDERR, "The measurement is invalid: $what\n");
        exit(1);
    }
}

/**
 * Returns the values below which the given parts of the values lie.
 *
 * @param list<float> $parts
 * @return list<float>
 */
function quantiles(array $values, array $parts): array
{
    sort($values);
    return array_map(fn (float $part) => $values[(int) round($part * (count($values) - 1))], $parts);
}

/**
 * Samples all rows in a random order, because a database still cleans up after the last writer.
 *
 * @param array<Row> $rows
 * @param float $part the quantile that replaces the samples of a round
 */
function sample_shuffled(array $rows, int $rounds, int $samples, float $part): void
{
    for ($i = 0; $i < $rounds * $samples; $i++) {
        shuffle($rows);
        array_map(fn (Row $row) => $row->sample(), $rows);
    }
    array_map(fn (Row $row) => $row->gather($rounds, $part), $rows);
}

/** @return array{float, float, float} the median, the least and the most */
function of_rounds(array $values): array
{
    return quantiles($values, [0.5, 0, 1]);
}

/** Prints and saves the times of a row, and their ratios to those of another row. */
function report(Row $row, ?Row $beside = null): void
{
    $figures = ['ns' => of_rounds($row->samples)];
    printf('%-41s %8.2f %8.2f to %7.2f', $row->name, ...array_map(fn (float $nanos) => $nanos / 1000, $figures['ns']));
    if ($beside !== null) {
        $figures += ['beside' => $beside->name, 'beside_ns' => of_rounds($beside->samples), 'ratio' => of_rounds($row->ratios($beside))];
        printf('  %7.3f (%.3f to %.3f) x %s', ...[...$figures['ratio'], $beside->name]);
    }
    echo "\n";
    Record::row($row->name, $figures);
}

function title(string $title): void
{
    Record::title($title);
    printf("\n%-41s %8s %19s  %s\n", $title, 'µs', 'least to most', 'ratio, least to most');
}

/**
 * Returns the list of processors that this process may use. Its child processes inherit the list.
 */
function processors(): string
{
    preg_match('/^Cpus_allowed_list:\s*(.*)$/m', file_get_contents('/proc/self/status'), $found);
    return $found[1];
}

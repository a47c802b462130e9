<?php
/** Measures statements in rounds that take turns, and prints and keeps a line for each. */
require_once __DIR__ . '/record.inc.php';

/** One line of a benchmark: a statement, and how long each sample of it took. */
final class Row
{
    /** Copies of the statement in one turn of the loop, so that the loop itself hardly counts. */
    private const UNROLLED = 20;

    /** @var list<float> nanoseconds a call */
    public array $samples = [];
    public int $calls = 0;
    private readonly Closure $run;

    /**
     * @param string $statement the code; where it uses $at, that goes on from sample to sample
     * @param array<string, mixed> $variables what it uses
     * @param int $turns of the loop in one sample
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

    public function median(): float
    {
        return quantile($this->samples, 0.5);
    }

    /** How many times as long as another row, net of the loop: the median over the rounds. */
    public function ratio(self $other, float $loop): float
    {
        return quantile($this->ratios($other, $loop), 0.5);
    }

    /** @return list<float> the same for each round */
    public function ratios(self $other, float $loop): array
    {
        $of_round = fn (float $mine, float $others): float => ($mine - $loop) / ($others - $loop);
        return array_map($of_round, $this->samples, $other->samples);
    }

    /** Makes rounds of many samples: of each the value below which that part of its samples lies. */
    public function gather(int $rounds, float $part): void
    {
        $of_round = array_chunk($this->samples, intdiv(count($this->samples), $rounds));
        $this->samples = array_map(fn (array $samples) => quantile($samples, $part), $of_round);
    }
}

function must(bool $holds, string $what): void
{
    if (!$holds) {
        fwrite(STDERR, "The measurement is void: $what\n");
        exit(1);
    }
}

/** The value below which that part of the values lies. */
function quantile(array $values, float $part): float
{
    return quantiles($values, [$part])[0];
}

/**
 * @param list<float> $parts
 * @return list<float> the same for several parts
 */
function quantiles(array $values, array $parts): array
{
    sort($values);
    return array_map(fn (float $part) => $values[(int) round($part * (count($values) - 1))], $parts);
}

/**
 * Samples all rows in turn, so that whatever disturbs the machine disturbs all of them.
 *
 * @param list<Row> $rows
 * @param ?callable $barrier waits for the other processes that measure the same rows
 */
function measure(array $rows, int $rounds, ?callable $barrier = null): void
{
    for ($round = 0; $round < $rounds; $round++) {
        foreach ($rows as $row) {
            if ($barrier !== null) {
                $barrier();
            }
            $row->sample();
        }
        $rows[] = array_shift($rows);
    }
}

/**
 * Samples all rows in an order that changes each time, because a database goes on cleaning up after
 * the last writer.
 *
 * @param array<Row> $rows
 * @param float $part the part of a round's samples that lies below the round's figure
 */
function sample_shuffled(array $rows, int $rounds, int $samples, float $part): void
{
    for ($i = 0; $i < $rounds * $samples; $i++) {
        shuffle($rows);
        array_map(fn (Row $row) => $row->sample(), $rows);
    }
    array_map(fn (Row $row) => $row->gather($rounds, $part), $rows);
}

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

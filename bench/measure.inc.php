<?php
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

<?php
require_once __DIR__ . '/check.php';

/**
 * Reads a text of metrics and checks the rules of its format.
 *
 * The rules are those of OpenMetrics 1.0, except that the metadata names counters with _total, as
 * in the older text format of Prometheus.
 */
final class OpenMetrics
{
    private const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
    private const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\n]|\\\\[\\\\"n])*"';

    /** @var array<string, array{type: string, unit: string, help: string}> families by name */
    public array $families = [];
    /** @var array<string, float> values by the name and the sorted labels, as in the text */
    public array $samples = [];
    /** @var array<string, list<array{name: string, labels: array<string, string>, value: float}>> by family */
    private array $of = [];

    /** Throws a RuntimeException that quotes the line which breaks a rule. */
    public function __construct(string $text)
    {
        preg_match('//u', $text) === 1 || throw new RuntimeException('invalid UTF-8');
        str_ends_with($text, "\n# EOF\n") || throw new RuntimeException('no EOF at the end');
        $family = null;
        foreach (explode("\n", substr($text, 0, -strlen("# EOF\n") - 1)) as $line) {
            $this->read($line, $family) || throw new RuntimeException("wrong: $line");
        }
        foreach ($this->families as $name => $family) {
            isset($family['type'], $family['help'], $this->of[$name]) || throw new RuntimeException("incomplete: $name");
            preg_match('/^[A-Z0-9].*\.$/', $family['help']) || throw new RuntimeException("help of $name");
            if ($family['type'] === 'histogram') {
                $this->check_histogram($name);
            }
        }
    }

    /** Returns the value of a sample, or null. The labels are in any order. */
    public function value(string $name, array $labels = []): ?float
    {
        return $this->samples[self::key($name, $labels)] ?? null;
    }

    /**
     * Returns the sum of the samples of a family that have these labels. They may also have others.
     */
    public function sum(string $name, array $labels = []): float
    {
        $sum = 0.0;
        foreach ($this->of[$name] ?? [] as $sample) {
            if ($sample['name'] === $name && array_intersect_assoc($labels, $sample['labels']) === $labels) {
                $sum += $sample['value'];
            }
        }
        return $sum;
    }

    /** @return list<string> the names of the labels of a family, in order, without le */
    public function labels(string $family): array
    {
        $labels = [];
        foreach ($this->of[$family] as $sample) {
            $labels += array_diff_key($sample['labels'], ['le' => 1]);
        }
        return array_keys($labels);
    }

    private function read(string $line, ?string &$family): bool
    {
        if (preg_match('/^# (HELP|TYPE|UNIT) (' . self::NAME . ') (.+)$/', $line, $found)) {
            [, $what, $name, $value] = $found;
            // The lines of a family are not interrupted, and its samples follow its metadata.
            if ($name !== $family && isset($this->families[$name]) || isset($this->of[$name])) {
                return false;
            }
            $family = $name;
            $is_new = !isset($this->families[$name][strtolower($what)]);
            $this->families[$name][strtolower($what)] = $value;
            return $is_new && match ($what) {
                'HELP' => true,
                'TYPE' => in_array($value, ['counter', 'gauge', 'histogram'], true)
                    && ($value === 'counter') === str_ends_with($name, '_total'),
                'UNIT' => str_ends_with($name, "_$value"),
            };
        }
        $labels = '\{(?<labels>' . self::LABEL . '(?:,' . self::LABEL . ')*)\}';
        if (!preg_match('/^(?<name>' . self::NAME . ")(?:$labels)? (?<value>[0-9.e+-]+)$/", $line, $found)) {
            return false;
        }
        ['name' => $name, 'value' => $value] = $found;
        $type = $this->families[$family]['type'] ?? '';
        $suffixes = $type === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
        if (!in_array($name, array_map(fn ($suffix) => $family . $suffix, $suffixes), true) || !is_numeric($value)) {
            return false;
        }
        $labels = [];
        preg_match_all('/(\w+)="((?:[^"\\\\]|\\\\.)*)"/', $found['labels'] ?? '', $pairs, PREG_SET_ORDER);
        foreach ($pairs as [, $label, $escaped]) {
            if (isset($labels[$label])) {
                return false;
            }
            $labels[$label] = strtr($escaped, ['\\\\' => '\\', '\\"' => '"', '\\n' => "\n"]);
        }
        $key = self::key($name, $labels);
        if (isset($this->samples[$key])) {
            return false;
        }
        $this->samples[$key] = (float) $value;
        $this->of[$family][] = ['name' => $name, 'labels' => $labels, 'value' => (float) $value];
        return true;
    }

    /** The buckets of each series are in order, and the last one has the count of all. */
    private function check_histogram(string $family): void
    {
        $last = [];
        foreach ($this->of[$family] as ['name' => $name, 'labels' => $labels, 'value' => $value]) {
            $limit = $labels['le'] ?? null;
            unset($labels['le']);
            $series = self::key($family, $labels);
            [$last_limit, $last_value] = $last[$series] ?? [-INF, 0.0];
            $holds = match ($name) {
                "{$family}_bucket" => $value >= $last_value && ($limit === '+Inf' ? INF : (float) $limit) > $last_limit,
                "{$family}_count" => $value === $last_value && $last_limit === INF,
                "{$family}_sum" => $value >= 0.0,
            };
            $holds || throw new RuntimeException("$name of $series");
            if ($limit !== null) {
                $last[$series] = [$limit === '+Inf' ? INF : (float) $limit, $value];
            }
        }
    }

    private static function key(string $name, array $labels): string
    {
        ksort($labels);
        return $name . json_encode($labels, JSON_THROW_ON_ERROR);
    }
}

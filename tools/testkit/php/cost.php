<?php
require_once __DIR__ . '/fpm.php';

/** Loads pages behind nginx with the client ab, and compares what they cost. */
final class Load
{
    private const CLIENTS = 8;

    public function __construct(private readonly Fpm $fpm, private readonly int $port)
    {
    }

    /**
     * Sends requests from 8 clients that work at the same time and keep their connections.
     *
     * @return array{passed: int, denied: int, per_second: float, cpu: float} the responses, and the
     * seconds of processor time that the workers used
     */
    public function send(string $target, int $requests): array
    {
        $before = $this->cpu();
        $clients = min($requests, self::CLIENTS);
        exec("ab -q -l -k -n $requests -c $clients -H 'Accept: application/json' " . escapeshellarg("http://127.0.0.1:$this->port$target") . ' 2>&1', $lines);
        $cpu = $this->cpu() - $before;
        $output = implode("\n", $lines);
        $number = fn (string $name): float => preg_match("/^$name:\s+([\d.]+)/m", $output, $found) ? (float) $found[1] : 0.0;
        if ((int) $number('Complete requests') !== $requests || $number('Failed requests') > 0) {
            throw new RuntimeException($output);
        }
        $denied = (int) $number('Non-2xx responses');
        return ['passed' => $requests - $denied, 'denied' => $denied, 'per_second' => $number('Requests per second'), 'cpu' => $cpu];
    }

    /**
     * Sends requests to all pages in rounds, in which the pages take turns. Prints the medians.
     *
     * @param array<string, string> $targets by name. One name is "bridge"
     * @return array<string, float> the median of the bridge's requests a second divided by those of
     * each page
     */
    public function compare(array $targets, int $rounds, int $requests): array
    {
        foreach ($targets as $target) {
            // A framework writes its caches during the first request.
            $this->send($target, 1);
            $this->send($target, $requests);
        }
        $rates = $times = [];
        for ($round = 0; $round < $rounds; $round++) {
            $names = array_keys($targets);
            shuffle($names);
            foreach ($names as $name) {
                $result = $this->send($targets[$name], $requests);
                $result['denied'] === 0 || throw new RuntimeException("$name denied $result[denied] requests");
                $rates[$name][] = $result['per_second'];
                $times[$name][] = $result['cpu'] / $requests;
            }
        }
        $ratios = [];
        foreach (array_keys($targets) as $name) {
            $ratios[$name] = self::ratio($rates['bridge'], $rates[$name]);
            fprintf(
                STDERR,
                "%-14s %6.0f requests/s, the bridge serves %.3f times as many; %.3f ms of processor time, %.3f times that of the bridge\n",
                $name,
                self::median($rates[$name]),
                $ratios[$name],
                1000 * self::median($times[$name]),
                self::ratio($times[$name], $times['bridge']),
            );
        }
        return $ratios;
    }

    /** Returns the seconds of processor time that the workers have used. */
    private function cpu(): float
    {
        $times = array_map(fn (int $worker): int => (int) file_get_contents("/proc/$worker/schedstat"), $this->fpm->workers());
        return array_sum($times) / 1e9;
    }

    private static function ratio(array $dividends, array $divisors): float
    {
        return self::median(array_map(fn (float $a, float $b) => $a / $b, $dividends, $divisors));
    }

    private static function median(array $numbers): float
    {
        sort($numbers);
        return $numbers[intdiv(count($numbers), 2)];
    }
}

/**
 * Compares a bridge with the framework's own limiter and with no limiter. Returns an error, or null
 * if the bridge serves 0.97 times as many requests as no limiter, and 1.5 times as many as the
 * framework's.
 *
 * Other load on the machine can make this fail, so only scripts/bench calls it.
 *
 * @param array<string, string> $targets by name: "bridge", "none", "own", and others to print
 */
function cost_error(Load $load, array $targets): ?string
{
    $ratios = $load->compare($targets, 100, 80);
    foreach (['none' => 0.97, 'own' => 1.5] as $name => $ratio) {
        if ($ratios[$name] < $ratio) {
            return sprintf('the bridge serves %.3f times as many requests as "%s", less than %.3f', $ratios[$name], $name, $ratio);
        }
    }
    return null;
}

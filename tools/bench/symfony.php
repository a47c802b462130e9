<?php
/**
 * Measures examples/symfony behind nginx and php-fpm: without a limiter, with the bridge, and with
 * Symfony's own limiter. Each request takes one token and is granted.
 *
 * The program ab requests the environments alternately. The autoloader is Debian's, not Composer's.
 * The processor time of php-fpm's workers depends less on other load than the requests a second do.
 */
require __DIR__ . '/../../bridges/symfony/tests/ExampleServer.php';

const ROUNDS = 9;
const REQUESTS = 1_000;
const CLIENTS = 8;
const NAMES = ['unlimited' => 'no limiter', 'prod' => 'with the bridge, shared memory', 'plain' => "Symfony's own limiter, files"];

function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

/** Returns the milliseconds of processor time that the workers have used. */
function processor_time(Fpm $fpm): float
{
    $ticks = 0;
    foreach ($fpm->workers() as $worker) {
        // The process name, in brackets, may contain any bytes. User and system time are the fields
        // 14, 15.
        $fields = explode(' ', preg_replace('/.*\) /s', '', file_get_contents("/proc/$worker/stat")));
        $ticks += $fields[11] + $fields[12];
    }
    return $ticks * 10;
}

/** @return array{float, float} the requests in a second, and in a second of processor time */
function load(TokenBucket\Bridge\Symfony\Tests\ExampleServer $server, string $environment): array
{
    $before = processor_time($server->fpm);
    $url = escapeshellarg("http://127.0.0.1:{$server->nginx->port}/$environment?key=cost");
    exec(sprintf('ab -q -k -n %d -c %d %s 2>&1', REQUESTS, CLIENTS, $url), $lines);
    $output = implode("\n", $lines);
    if (!preg_match('/^Failed requests:\s+0$/m', $output) || str_contains($output, 'Non-2xx')
        || !preg_match('/^Requests per second:\s+([\d.]+)/m', $output, $rate)) {
        throw new RuntimeException("$environment: $output");
    }
    return [(float) $rate[1], 1000 * REQUESTS / (processor_time($server->fpm) - $before)];
}

$server = new TokenBucket\Bridge\Symfony\Tests\ExampleServer(['SEARCH_LIMIT' => '1000000000']);
$rates = [];
// The first round compiles the containers and fills opcache.
for ($round = -1; $round < ROUNDS; $round++) {
    $environments = array_keys(NAMES);
    shuffle($environments);
    foreach ($environments as $environment) {
        [$of_clock, $of_processor] = load($server, $environment);
        if ($round >= 0) {
            $rates['a second'][$environment][$round] = $of_clock;
            $rates['a second of processor time'][$environment][$round] = $of_processor;
        }
    }
}
foreach ($rates as $unit => $of) {
    echo "requests $unit\n";
    foreach (NAMES as $environment => $name) {
        $ratio = fn (string $other) => median(array_map(fn (float $rate, float $than) => $rate / $than, $of[$environment], $of[$other]));
        printf("  %-32s %6.0f  %.3f of none  %.3f of Symfony's own\n", $name, median($of[$environment]), $ratio('unlimited'), $ratio('plain'));
    }
}
$server->stop();

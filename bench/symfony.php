<?php
/**
 * Measures examples/symfony behind nginx and php-fpm: without a limiter, with the bridge, and with
 * Symfony's own limiter. Each request takes one token and is granted.
 *
 * The program ab requests the environments alternately. The autoloader is Debian's, not Composer's.
 */
require __DIR__ . '/../bridges/symfony/tests/ExampleServer.php';

const ROUNDS = 9;
const REQUESTS = 1_000;
const CLIENTS = 8;
const NAMES = ['unlimited' => 'no limiter', 'prod' => 'with the bridge, shared memory', 'plain' => "Symfony's own limiter, files"];

function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

/** Returns the requests a second. */
function load(TokenBucket\Bridge\Symfony\Tests\ExampleServer $server, string $environment): float
{
    $url = escapeshellarg("http://127.0.0.1:{$server->nginx->port}/$environment?key=cost");
    exec(sprintf('ab -q -k -n %d -c %d %s 2>&1', REQUESTS, CLIENTS, $url), $lines);
    $output = implode("\n", $lines);
    if (!preg_match('/^Failed requests:\s+0$/m', $output) || str_contains($output, 'Non-2xx')
        || !preg_match('/^Requests per second:\s+([\d.]+)/m', $output, $rate)) {
        throw new RuntimeException("$environment: $output");
    }
    return (float) $rate[1];
}

$server = new TokenBucket\Bridge\Symfony\Tests\ExampleServer(['SEARCH_LIMIT' => '1000000000']);
$rates = [];
// The first round compiles the containers and fills opcache.
for ($round = -1; $round < ROUNDS; $round++) {
    $environments = array_keys(NAMES);
    shuffle($environments);
    foreach ($environments as $environment) {
        $rate = load($server, $environment);
        if ($round >= 0) {
            $rates[$environment][$round] = $rate;
        }
    }
}
foreach (NAMES as $environment => $name) {
    $ratio = fn (string $other) => median(array_map(fn (float $rate, float $of) => $rate / $of, $rates[$environment], $rates[$other]));
    printf("%-32s %7.0f requests/s, %.3f of none, %.3f of Symfony's own\n", $name, median($rates[$environment]), $ratio('unlimited'), $ratio('plain'));
}
$server->stop();

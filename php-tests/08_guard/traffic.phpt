--TEST--
The guard: eight clients through nginx get exactly the burst and the rate, and status 429 otherwise
--EXTENSIONS--
opcache
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
exec('command -v nginx', $path, $missing);
$missing && die('skip there is no nginx');
?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../testkit/php/http.php';
require __DIR__ . '/../../testkit/php/nginx.php';

/**
 * Sends requests by eight clients for some seconds. Returns the number of replies by their status,
 * and the seconds from the first request to the last reply.
 */
function load(Nginx $nginx, string $script, float $seconds): array
{
    $started = microtime(true);
    $results = in_processes(8, function () use ($nginx, $script, $seconds) {
        $counts = [];
        $deadline = microtime(true) + $seconds;
        do {
            [$status, $body] = http_request($nginx->port, "/$script") ?? [0, 'lost'];
            $expected = [200 => 'script', 429 => "Too many requests.\n"][$status] ?? null;
            $answer = $body === $expected ? $status : $body;
            $counts[$answer] = ($counts[$answer] ?? 0) + 1;
        } while (microtime(true) < $deadline);
        return $counts;
    });
    $seconds = microtime(true) - $started;
    $counts = [];
    foreach ($results as $of_client) {
        foreach ($of_client as $status => $count) {
            $counts[$status] = ($counts[$status] ?? 0) + $count;
        }
    }
    return [$counts, $seconds];
}

foreach (['off' => ['', INF, INF], 'burst' => ['ip 1/day burst 100', 100, 1 / 86400], 'burst and rate' => ['ip 100/second burst 50', 50, 100]] as $how => [$guard, $burst, $rate]) {
    $fpm = new Fpm(['www' => ['listen.mode' => '0666']], ['tokenbucket.guard' => $guard, 'opcache.enable' => '1']);
    // Counts each run of the script.
    $runs = "$fpm->folder/runs";
    touch($runs);
    chmod($runs, 0666);
    $fpm->script('script', "<?php file_put_contents('$runs', '.', FILE_APPEND); echo 'script';");
    $nginx = new Nginx($fpm);
    [$counts, $seconds] = load($nginx, 'script', 0.7);
    $nginx->kill();
    $fpm->stop();
    $granted = $counts[200] ?? 0;
    echo "$how: ";
    check(array_diff_key($counts, [200 => 0, 429 => 0]) === [], 'only these statuses: ' . json_encode($counts));
    check(filesize($runs) === $granted, filesize($runs) . " runs, $granted granted");
    if ($guard === '') {
        echo $granted > 200 && !isset($counts[429]) ? "no limit\n" : json_encode($counts) . "\n";
        continue;
    }
    check($granted <= $burst + $rate * $seconds, "$granted granted in $seconds s");
    check($granted >= floor($burst + $rate * 0.7), "$granted granted in at least 0.7 s");
    check(($counts[429] ?? 0) > 100, json_encode($counts));
    echo $rate < 1 ? "$granted granted\n" : "done\n";
}
?>
--EXPECT--
off: no limit
burst: 100 granted
burst and rate: done

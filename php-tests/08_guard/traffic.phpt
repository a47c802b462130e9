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
require __DIR__ . '/../../tools/testkit/php/http.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

/**
 * Sends requests by eight clients, at least $requests by each, for at least $seconds, until each
 * was denied $denials times. Returns the number of replies by their status, the most seconds that
 * all decisions can have taken, and the least seconds from the first decision to the last denial.
 */
function load(Nginx $nginx, string $script, float $seconds, int $requests, int $denials): array
{
    $started = microtime(true);
    $results = in_processes(8, function () use ($nginx, $script, $seconds, $requests, $denials) {
        $counts = [];
        [$first_reply, $last_denied] = [INF, 0.0];
        $deadline = microtime(true) + $seconds;
        do {
            $sent = microtime(true);
            [$status, $body] = http_request($nginx->port, "/$script") ?? [0, 'lost'];
            $expected = [200 => 'script', 429 => "Too many requests.\n"][$status] ?? null;
            $answer = $body === $expected ? $status : $body;
            $counts[$answer] = ($counts[$answer] ?? 0) + 1;
            $first_reply = min($first_reply, microtime(true));
            $status === 429 && $last_denied = $sent;
        } while (microtime(true) < $deadline || array_sum($counts) < $requests || ($counts[429] ?? 0) < $denials);
        return [$counts, $first_reply, $last_denied];
    });
    $most = microtime(true) - $started;
    $least = max(array_column($results, 2)) - min(array_column($results, 1));
    $counts = [];
    foreach (array_column($results, 0) as $of_client) {
        foreach ($of_client as $status => $count) {
            $counts[$status] = ($counts[$status] ?? 0) + $count;
        }
    }
    return [$counts, $most, $least];
}

foreach (['off' => ['', INF, INF], 'burst' => ['ip 1/day burst 100', 100, 1 / 86400], 'burst and rate' => ['ip 20/second burst 50', 50, 20]] as $how => [$guard, $burst, $rate]) {
    $fpm = new Fpm(['www' => ['listen.mode' => '0666']], ['tokenbucket.guard' => $guard, 'opcache.enable' => '1']);
    // Counts each run of the script.
    $runs = "$fpm->folder/runs";
    touch($runs);
    chmod($runs, 0666);
    $fpm->script('script', "<?php file_put_contents('$runs', '.', FILE_APPEND); echo 'script';");
    $nginx = new Nginx($fpm);
    [$counts, $most, $least] = load($nginx, 'script', 0.7, 30, $guard === '' ? 0 : 15);
    $nginx->kill();
    $fpm->stop();
    $granted = $counts[200] ?? 0;
    echo "$how: ";
    check(array_diff_key($counts, [200 => 0, 429 => 0]) === [], 'only these statuses: ' . json_encode($counts));
    check(filesize($runs) === $granted, filesize($runs) . " runs, $granted granted");
    if ($guard === '') {
        echo $granted >= 240 && !isset($counts[429]) ? "no limit\n" : json_encode($counts) . "\n";
        continue;
    }
    check($granted <= $burst + $rate * $most, "$granted granted in $most s");
    // At a denial the bucket holds less than a token, so all other tokens were granted.
    check($least > 0 && $granted >= floor($burst + $rate * $least), "$granted granted in at least $least s");
    echo $rate < 1 ? "$granted granted\n" : "done\n";
}
?>
--EXPECT--
off: no limit
burst: 100 granted
burst and rate: done

--TEST--
The command tokenbucket advise names the requests that the guard of a php-fpm behind nginx has denied
--SKIPIF--
<?php
require __DIR__ . '/../08_guard/skip_nginx.inc.php';
require __DIR__ . '/../../tools/testkit/php/skip_slow.php';
?>
--FILE--
<?php
require __DIR__ . '/../08_guard/web_servers.inc.php';

const LIMITS = 'ip 20/minute burst 10; on /login* ip 10/minute burst 3';
const FORMAT = '$remote_addr [$time_local] "$request" $status "$http_x_forwarded_for" $fastcgi_script_name $msec $request_time $sent_http_x_denied "$http_x_number"';
const REQUESTS = 20_000;
const CLIENTS = 500;
/**
 * Sends requests of random clients, some of them at once. Half of the clients hardly reach a limit.
 */
function send_requests(int $port, int $at_once): void
{
    [$connections, $waiting, $sent] = [[], [], 0];
    while ($sent < REQUESTS || $waiting !== []) {
        for ($i = 0; $i < $at_once && $sent < REQUESTS; $i++) {
            if (!isset($waiting[$i])) {
                $connections[$i] ??= stream_socket_client("tcp://127.0.0.1:$port", timeout: 60);
                $client = mt_rand(0, mt_rand(0, 3) === 0 ? CLIENTS - 1 : intdiv(CLIENTS, 2));
                $path = mt_rand(0, 3) === 0 ? '/login.php' : '/index.php';
                fwrite($connections[$i], "GET $path HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0." . intdiv($client, 250) . '.' . $client % 250 . "\r\nX-Number: " . $sent++ . "\r\n\r\n");
                $waiting[$i] = '';
            }
        }
        $ready = array_intersect_key($connections, $waiting);
        stream_select($ready, $none, $none, 60) ?: throw new RuntimeException('no reply');
        foreach ($ready as $i => $stream) {
            $waiting[$i] .= fread($stream, 1 << 16);
            // Both responses are chunked, or have a length.
            if (preg_match('/^HTTP.*?\r\n\r\n(.*)/s', $waiting[$i], $body) === 1 && (str_ends_with($body[1], "0\r\n\r\n") || str_ends_with($body[1], "requests.\n"))) {
                unset($waiting[$i]);
            }
        }
    }
}

/** Returns the decisions of the command by line, and whether the log leaves each one uncertain. */
function replayed(string $log, string $mode): array
{
    $arguments = "advise $log --format=" . escapeshellarg(FORMAT) . ' --guard=' . escapeshellarg(LIMITS) . " --mode=$mode --trusted-proxies=127.0.0.1 --decisions=$log.json --json";
    $report = json_decode(php_run_file(__DIR__ . '/../../bin/tokenbucket', [], $arguments), true);
    $decisions = [];
    foreach (file("$log.json") as $line) {
        $row = json_decode($line, true);
        $earlier = $decisions[$row['line']] ?? ['client' => $row['client'], 'denied' => false, 'uncertain' => false];
        $decisions[$row['line']] = ['denied' => $earlier['denied'] || $row['denied'], 'uncertain' => $earlier['uncertain'] || $row['uncertain']] + $earlier;
    }
    return [$decisions, $report];
}

/**
 * Compares decisions with those of the guard. After an uncertain decision that differs, each bucket
 * of the request has a token more or less than that of the guard, until a later decision makes up
 * for it. Two requests of a client that overlap may have come in the other order.
 */
function compare_decisions(array $lines, array $decisions, array $denied): array
{
    [$different, $unexplained, $ahead] = [[], 0, []];
    foreach ($denied as $line => $is_denied) {
        ['client' => $client, 'denied' => $by_replay, 'uncertain' => $is_uncertain] = $decisions[$line];
        if ($is_denied !== $by_replay) {
            $is_explained = $is_uncertain;
            foreach (str_contains($lines[$line], '/login') ? ["$client", "$client login"] : ["$client"] as $bucket) {
                $before = $ahead[$bucket] ?? 0;
                $ahead[$bucket] = $before + ($by_replay ? 1 : -1);
                $is_explained = $is_explained || abs($ahead[$bucket]) < abs($before);
            }
            preg_match('/ (\d+\.\d+) ([\d.]+) \S+ "\d+"$/', trim($lines[$line]), $time);
            // The log has milliseconds.
            $different[] = ['of' => $client, 'denied' => $is_denied, 'begin' => $time[1] - $time[2] - 0.001, 'end' => (float) $time[1], 'explained' => $is_explained];
        }
    }
    foreach (array_filter($different, fn (array $one) => !$one['explained']) as $one) {
        $swapped = fn (array $other): bool => $other['of'] === $one['of'] && $other['denied'] !== $one['denied'] && $other['begin'] <= $one['end'] && $one['begin'] <= $other['end'];
        $unexplained += array_filter($different, $swapped) === [] ? 1 : 0;
    }
    return [count($different), $unexplained];
}

/** Returns the decisions of a limiter that counts the requests of each client in windows. */
function in_windows(array $lines, array $decisions): array
{
    $counts = [];
    foreach ($lines as $line => $text) {
        preg_match('/ (\d+)\.\d+ [\d.]+ \S+ "\d+"$/', trim($text), $time);
        foreach ([[20, ''], ...(str_contains($text, '/login') ? [[10, 'login']] : [])] as [$most, $limit]) {
            $key = $limit . $decisions[$line]['client'] . intdiv((int) $time[1], 60);
            $counts[$key] = ($counts[$key] ?? 0) + 1;
            $of[$line] = ($of[$line] ?? false) || $counts[$key] > $most;
        }
    }
    return array_map(fn (array $decision, bool $is_denied): array => ['denied' => $is_denied] + $decision, $decisions, $of);
}

// One request at once, so that the sum of denials tells the requests of the mode "observe" apart.
const SCRIPT_OF_OBSERVED = '<?php $sum = 0; foreach (TokenBucket\status()["decisions"] as $row) { str_starts_with((string) $row["namespace"], "guard: ") && $sum += $row["denied_by_store"]; } header("X-Denied: $sum"); echo "page";';
foreach (['enforce' => 4, 'observe' => 1] as $mode => $workers) {
    mt_srand(7);
    $ini = ['tokenbucket.guard' => LIMITS, 'tokenbucket.guard_mode' => $mode, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1', 'error_log' => '/dev/null', 'tokenbucket.shm_size' => '64K'];
    $fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => $workers]], $ini);
    foreach (['index', 'login'] as $script) {
        $fpm->script($script, $mode === 'observe' ? SCRIPT_OF_OBSERVED : '<?php echo "page";');
    }
    // nginx runs as another user.
    touch($log = "$fpm->folder/access.log");
    chmod($log, 0666);
    $nginx = new Nginx($fpm, "access_log $log test;", http: "log_format test '" . FORMAT . "';");
    send_requests($nginx->port, $workers);
    // nginx writes a line after the response.
    wait_for('nginx has written all lines', fn () => preg_match_all('/"\d+"$/m', file_get_contents($log)) === REQUESTS);
    $nginx->kill();
    // The line of nginx's own page is not of a client.
    $lines = array_filter(file($log), fn (string $line) => preg_match('/"\d+"$/', trim($line)) === 1);
    $lines = array_combine(array_map(fn (int $line) => $line + 1, array_keys($lines)), $lines);
    check(count($lines) === REQUESTS, count($lines) . ' lines');
    $denied = [];
    if ($mode === 'enforce') {
        $denied = array_map(fn (string $line) => str_contains($line, '" 429 "'), $lines);
    } else {
        $sums = array_map(fn (string $line) => (int) preg_replace('/.* (\d+) "\d+"$/s', '$1', trim($line)), $lines);
        asort($sums);
        $last = 0;
        foreach ($sums as $line => $sum) {
            [$denied[$line], $last] = [$sum > $last, $sum];
        }
    }
    [$decisions, $report] = replayed($log, $mode);
    [$different, $unexplained] = compare_decisions($lines, $decisions, $denied);
    ksort($decisions);
    $decisions = array_intersect_key($decisions, $lines);
    [$otherwise, $beyond] = compare_decisions($lines, array_combine(array_keys($lines), in_windows($lines, $decisions)), $denied);
    $figures = sprintf('%s: %d denied of %d, %d differ, %d unexplained; in windows %d differ, %d unexplained', $mode, array_sum($denied), count($denied), $different, $unexplained, $otherwise, $beyond);
    getenv('TOKENBUCKET_ADVISE_REPORT') && file_put_contents(getenv('TOKENBUCKET_ADVISE_REPORT'), "$figures\n", FILE_APPEND);
    check(array_sum($denied) > REQUESTS / 10, "too few denied: $figures");
    check($unexplained === 0 && $different <= REQUESTS * 0.002, $figures);
    check($beyond > REQUESTS * 0.01, "control: $figures");
    $fpm->stop();
}
?>
--EXPECT--

--TEST--
The guard: each row estimates how many different clients it has denied, and keeps none of them
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

/** Returns the field of each row, by the name of the row. */
function rows(Fpm $fpm, string $field): array
{
    $script = $fpm->script('rows', '<?php echo json_encode(TokenBucket\status()["decisions"]);');
    return array_column(json_decode($fpm->request($script, ['REMOTE_ADDR' => ''])['body'], true), $field, 'namespace');
}

/**
 * Reports whether an estimate is within 6.5 standard errors, because the secret is random. Of a
 * normal distribution, 1 - erf(6.5 / sqrt(2)) = 8e-11 is outside.
 */
function is_close(int $estimate, int $clients): bool
{
    return abs($estimate - $clients) <= 6.5 * 0.0325 * $clients + 0.5;
}

/** Sends the requests in a mode. Returns the numbers of the rows, and the text of metrics(). */
function numbers(string $mode): array
{
    $fpm = new Fpm(ini: ['tokenbucket.guard_mode' => $mode, 'tokenbucket.guard' => 'ip 1/day; on /other.php ip 1/day; host 1/day burst 400', 'error_log' => '/dev/null']);
    $script = $fpm->script('script', SCRIPT);
    in_processes(4, function (int $index) use ($fpm, $script) {
        for ($client = $index; $client < 300; $client += 4) {
            // The last address is another one of the same client.
            foreach (["2001:db8:0:$client::1", "2001:db8:0:$client::1", "2001:db8:0:$client::1", "2001:db8:0:$client::2"] as $address) {
                $fpm->request($script, ['REMOTE_ADDR' => $address, 'SERVER_NAME' => 'a']);
            }
        }
    });
    $numbers = array_map(fn (string $field) => rows($fpm, $field), ['clients_denied_today', 'denied_by_store', 'clients_denied_yesterday']);
    $metrics = $fpm->request($fpm->script('metrics', '<?php echo TokenBucket\metrics();'), ['REMOTE_ADDR' => ''])['body'];
    $fpm->stop();
    return [...$numbers, $metrics];
}

foreach (['enforce', 'observe'] as $mode) {
    do {
        // If the day ends meanwhile, the clients belong to two days, so all requests are sent
        // again.
        $day = gmdate('Y-m-d');
        [$today, $requests, $yesterday, $metrics] = numbers($mode);
    } while (gmdate('Y-m-d') !== $day);
    [$ip, $other, $host] = ['guard: ip 1/day burst 1', 'guard: on /other.php ip 1/day burst 1', 'guard: host 1/day burst 400'];
    check(is_close($today[$ip], 300), "$today[$ip] clients");
    // The control: there are three times as many denied requests as clients.
    check(!is_close($requests[$ip], 300), "$requests[$ip] requests");
    echo "$mode: $requests[$ip] requests, other pages $today[$other], host ";
    // In the mode "enforce", only the limit of the client denies.
    echo $mode === 'enforce' ? $today[$host] : (is_close($today[$host], 200) || $today[$host] > 150 ? 'some' : $today[$host]);
    echo ', yesterday ', array_sum($yesterday), "\n";
    check(str_contains($metrics, "tokenbucket_guard_denied_clients{namespace=\"$ip\",day=\"today\"} $today[$ip]\n"), $metrics);
}
echo 'a row of PHP code: ', json_encode(array_key_exists('clients_denied_today', (function () {
    (new TokenBucket(new TokenBucketStorageSharedMemory('a'), 'id', 1, 1))->consume();
    return TokenBucket\status()['decisions'][0];
})())), "\n";
?>
--EXPECT--
enforce: 900 requests, other pages 0, host 0, yesterday 0
observe: 900 requests, other pages 0, host some, yesterday 0
a row of PHP code: false

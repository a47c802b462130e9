--TEST--
The guard: a client that lacks tokens of a limit with "block" is denied until the block ends
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

const PROXIES = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1 10.0.0.0/8'];
const GUARD = 'on POST /login.php ip 3/hour block 1 day; ip 100000/hour';

/** Sends a request from 127.0.0.1 with this X-Forwarded-For, and returns status and Retry-After. */
function reply(int $port, string $method, string $path, string $forwarded): array
{
    $context = stream_context_create(['http' => ['method' => $method, 'header' => "X-Forwarded-For: $forwarded", 'ignore_errors' => true, 'timeout' => 60]]);
    file_get_contents("http://127.0.0.1:$port$path", false, $context);
    preg_match('/^Retry-After: (\d+)/mi', implode("\n", $http_response_header), $after);
    return [(int) explode(' ', $http_response_header[0])[1], (int) ($after[1] ?? 0)];
}

/** Returns the statuses of requests for the login page. */
function logins(int $port, string $forwarded, int $count): string
{
    return implode(' ', array_column(array_map(fn () => reply($port, 'POST', '/login.php', $forwarded), range(1, $count)), 0));
}

/** Returns the number of blocks. */
function blocks(Fpm $fpm): string
{
    $script = $fpm->script('blocks', '<?php echo TokenBucket\status()["shared_memory"]["blocked"];');
    return $fpm->request($script, ['REMOTE_ADDR' => ''])['body'];
}

with_web_servers(['tokenbucket.guard' => GUARD] + PROXIES, ['login' => SCRIPT, 'index' => SCRIPT], function (string $name, int $port) {
    echo "$name: ", logins($port, '203.0.113.1', 5), ', another client ', logins($port, '203.0.113.2', 1);
    echo ', other pages ', reply($port, 'GET', '/login.php', '203.0.113.1')[0], ' ', reply($port, 'POST', '/', '203.0.113.1')[0];
    // Without a block, the next token would come within 1200 seconds.
    [$status, $after] = reply($port, 'POST', '/login.php', '203.0.113.1');
    check($after > 1200 && $after <= 86400, "Retry-After: $after");
    echo ', proxies ', logins($port, '10.0.0.9', 4);
    [, $after] = reply($port, 'POST', '/login.php', '10.0.0.9');
    check($after <= 1200, "a proxy is not blocked, Retry-After: $after");
    echo "\n";
});

echo "== the block ends\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 1/second block 3 seconds; path 100000/second']);
$script = $fpm->script('script', SCRIPT);
/** Sends requests until one has the status. Returns when it was sent, and each Retry-After. */
$until = function (int $status) use ($fpm, $script): array {
    $after = [];
    do {
        $sent = microtime(true);
        $response = $fpm->request($script, ['REMOTE_ADDR' => '192.0.2.1']);
        $after[] = (int) ($response['fields']['retry-after'] ?? 0);
    } while ($response['status'] !== $status);
    return [$sent, $after];
};
[$denied, $after] = $until(429);
check(end($after) === 3, 'the first denial says ' . json_encode($after));
[, $after] = $until(200);
$granted = microtime(true);
check($granted - $denied >= 3, 'granted after ' . $granted - $denied);
$falling = $after;
rsort($falling);
check($after === $falling, 'a denial extends no block');
check(end($until(429)[1]) === 3, 'the next lack of tokens blocks again');
echo "a block is not extended by denials, and ends\n";
$fpm->stop();

echo "== observe, and rows\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 2/day block 1 day; ip+path 4/day', 'tokenbucket.guard_mode' => 'observe']);
$script = $fpm->script('script', SCRIPT);
echo statuses($fpm, $script, ...array_fill(0, 6, ['REMOTE_ADDR' => '192.0.2.1'])), "\n";
foreach (['guard: ip 2/day burst 2 block 1 day', 'guard: ip+path 4/day burst 4'] as $row) {
    echo "$row: ", json_encode(decisions($fpm, $row)), "\n";
}
echo 'blocks: ', blocks($fpm), "\n";
$fpm->stop();

echo "== other denials, and clients that are many\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 100/day block 1 day; path 1/day; ip concurrent 9'] + PROXIES);
$script = $fpm->script('script', SCRIPT);
echo 'another limit denies: ', statuses($fpm, $script, ...array_fill(0, 3, ['REMOTE_ADDR' => '192.0.2.1'])), ', blocks: ', blocks($fpm);
$fpm->stop();
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 1/day block 1 day'] + PROXIES);
$script = $fpm->script('script', SCRIPT);
foreach (['nonsense', '10.0.0.1', '2001:db8::1', '2001:db8::2:3:4:5'] as $address) {
    echo "\n$address: ", statuses($fpm, $script, ...array_fill(0, 2, ['REMOTE_ADDR' => $address]));
}
echo "\nblocks: ", blocks($fpm), "\n";
?>
--EXPECT--
nginx and php-fpm: 200 200 200 429 429, another client 200, other pages 200 200, proxies 200 200 200 429
Apache and php-fpm: 200 200 200 429 429, another client 200, other pages 200 200, proxies 200 200 200 429
mod_php: 200 200 200 429 429, another client 200, other pages 200 200, proxies 200 200 200 429
php-cgi: 200 200 200 429 429, another client 200, other pages 200 200, proxies 200 200 200 429
PHP's own web server: 200 200 200 429 429, another client 200, other pages 200 200, proxies 200 200 200 429
== the block ends
a block is not extended by denials, and ends
== observe, and rows
200 200 200 200 200 200
guard: ip 2/day burst 2 block 1 day: {"granted":2,"denied":4}
guard: ip+path 4/day burst 4: {"granted":4,"denied":2}
blocks: 1
== other denials, and clients that are many
another limit denies: 200 429 429, blocks: 0
nonsense: 200 429
10.0.0.1: 200 429
2001:db8::1: 200 429
2001:db8::2:3:4:5: 429 429
blocks: 1

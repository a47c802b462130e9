--TEST--
The guard: preflight requests count as other requests, unless they have limits of their own
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

const PREFLIGHT = ['Origin: https://other.example', 'Access-Control-Request-Method: PUT'];
/** Sends requests of a client, and returns their statuses. */
function requests(int $port, int $client, string $method, array $lines, int $count): string
{
    $lines[] = "X-Forwarded-For: 203.0.113.$client";
    return implode(' ', array_map(fn () => http_request($port, '/index.php', $lines, $method)[0] ?? 'lost', range(1, $count)));
}

foreach (['' => 'no limits of their own', 'ip 1/day burst 4' => 'limits of their own', 'ip' => 'an invalid setting'] as $preflights => $what) {
    echo "== $what\n";
    $ini = ['tokenbucket.guard' => 'ip 1/day burst 2', 'tokenbucket.guard_preflights' => $preflights, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1', 'log_errors' => '0'];
    with_web_servers($ini, ['index' => SCRIPT], function (string $name, int $port) {
        echo "$name: ", requests($port, 1, 'OPTIONS', PREFLIGHT, 5), ', then GET ', requests($port, 1, 'GET', [], 3), "\n";
        foreach ([['OPTIONS', []], ['OPTIONS', [PREFLIGHT[0]]], ['OPTIONS', [PREFLIGHT[1]]], ['GET', PREFLIGHT], ['options', PREFLIGHT]] as $i => [$method, $lines]) {
            $statuses = requests($port, 10 + $i, $method, $lines, 3);
            check(in_array($statuses, ['200 200 429', '400 400 400', '501 501 501', '405 405 405', 'lost lost lost'], true), "$method " . json_encode($lines) . ": $statuses");
        }
    }, ...$what === 'limits of their own' ? [] : ['nginx and php-fpm', 'mod_php']);
}
?>
--EXPECT--
== no limits of their own
nginx and php-fpm: 200 200 429 429 429, then GET 429 429 429
mod_php: 200 200 429 429 429, then GET 429 429 429
== limits of their own
nginx and php-fpm: 200 200 200 200 429, then GET 200 200 429
Apache and php-fpm: 200 200 200 200 429, then GET 200 200 429
mod_php: 200 200 200 200 429, then GET 200 200 429
php-cgi: 200 200 200 200 429, then GET 200 200 429
PHP's own web server: 200 200 200 200 429, then GET 200 200 429
== an invalid setting
nginx and php-fpm: 200 200 429 429 429, then GET 429 429 429
mod_php: 200 200 429 429 429, then GET 429 429 429

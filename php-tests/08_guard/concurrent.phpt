--TEST--
The guard: a limit of concurrent requests counts the requests that run, and their end frees it at once
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

const SCRIPTS = ['hold' => HOLD, 'index' => '<?php echo "index";', 'login' => '<?php echo "login";'];
const PROXIES = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
// PHP's own web server runs one request at a time.
const PARALLEL = ['nginx and php-fpm', 'Apache and php-fpm', 'mod_php', 'php-cgi'];

with_web_servers(['tokenbucket.guard' => 'ip concurrent 2'] + PROXIES, SCRIPTS, function (string $name, int $port) {
    $held = new Held($port, '/hold.php');
    $held->start(1);
    $held->start(1);
    echo "$name: the client ", probe($port, '/', 1), ' ', probe($port, '/hold.php', 1), ', another client ', probe($port, '/', 2);
    echo ', ', $held->end(), ', then ', probe($port, '/', 1), ' ', probe($port, '/', 1), "\n";
}, ...PARALLEL);

echo "== all clients\n";
with_web_servers(['tokenbucket.guard' => 'on /hold.php all concurrent 2; ip 9/day'] + PROXIES, SCRIPTS, function (string $name, int $port) {
    $held = new Held($port, '/hold.php');
    $held->start(1);
    $held->start(2);
    $response = http_request($port, '/hold.php', ['X-Forwarded-For: 203.0.113.3']);
    echo "$name: ", trim(implode(' ', $response)), ', other pages ', probe($port, '/', 3), ', ', $held->end(), "\n";
}, ...PARALLEL);

echo "== one after another\n";
with_web_servers(['tokenbucket.guard' => 'all concurrent 1; ip concurrent 1; host concurrent 1'] + PROXIES, SCRIPTS, function (string $name, int $port) {
    $statuses = array_map(fn (int $client) => probe($port, '/', $client), range(1, 20));
    echo "$name: ", json_encode(array_count_values($statuses)), "\n";
});

echo "== a denial takes no tokens, and no permits of other limits\n";
with_web_servers(['tokenbucket.guard' => 'on /hold.php all concurrent 1; ip 3/day; ip concurrent 1'] + PROXIES, SCRIPTS, function (string $name, int $port) {
    $held = new Held($port, '/hold.php');
    $held->start(1);
    $statuses = [probe($port, '/', 1), probe($port, '/hold.php', 2), probe($port, '/hold.php', 2), probe($port, '/', 2)];
    echo "$name: ", implode(' ', $statuses), ', ', $held->end();
    echo ', then ', implode(' ', array_map(fn () => probe($port, '/', 1), range(1, 3))), "\n";
}, 'nginx and php-fpm', 'mod_php');

echo "== a client without tokens, while others send requests\n";
with_web_servers(['tokenbucket.guard' => 'all concurrent 1; ip 1/day'] + PROXIES, SCRIPTS, function (string $name, int $port) {
    probe($port, '/', 1);
    $held = new Held($port, '/hold.php');
    $held->start(250);
    echo "$name: without tokens ", probe($port, '/', 1), ', with tokens ', probe($port, '/', 251), ', ', $held->end(), "\n";
    [$flood, $others] = in_processes(2, fn (int $index) => $index === 0
        ? array_map(fn () => probe($port, '/', 1), range(1, 400))
        : array_map(fn (int $client) => probe($port, '/', $client), range(2, 201)));
    echo '  ', json_encode(array_count_values($flood)), ', others ', json_encode(array_count_values($others)), "\n";
}, 'nginx and php-fpm', 'mod_php');
?>
--EXPECT--
nginx and php-fpm: the client 429 429, another client 200, held held, then 200 200
Apache and php-fpm: the client 429 429, another client 200, held held, then 200 200
mod_php: the client 429 429, another client 200, held held, then 200 200
php-cgi: the client 429 429, another client 200, held held, then 200 200
== all clients
nginx and php-fpm: 503 Service unavailable., other pages 200, held held
Apache and php-fpm: 503 Service unavailable., other pages 200, held held
mod_php: 503 Service unavailable., other pages 200, held held
php-cgi: 503 Service unavailable., other pages 200, held held
== one after another
nginx and php-fpm: {"200":20}
Apache and php-fpm: {"200":20}
mod_php: {"200":20}
php-cgi: {"200":20}
PHP's own web server: {"200":20}
== a denial takes no tokens, and no permits of other limits
nginx and php-fpm: 429 503 503 200, held, then 200 200 429
mod_php: 429 503 503 200, held, then 200 200 429
== a client without tokens, while others send requests
nginx and php-fpm: without tokens 429, with tokens 503, held
  {"429":400}, others {"200":200}
mod_php: without tokens 429, with tokens 503, held
  {"429":400}, others {"200":200}

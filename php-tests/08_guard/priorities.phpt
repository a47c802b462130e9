--TEST--
The guard: requests that leave tokens or permits are denied first, and a flood of them takes nothing from the others
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

const PROXIES = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
const LIMIT = 'all 1/day burst 400';
const LEAVE = ' leave 100 on /export*,/search name site';
const SCRIPTS = ['checkout' => SCRIPT, 'index' => SCRIPT];

/** Sends requests of one client after another. Returns their numbers by status. */
function load(int $port, string $path, int $count, int $client): array
{
    $counts = array_count_values(array_map(fn () => probe($port, $path, $client), range(1, $count)));
    ksort($counts);
    return $counts;
}

foreach ([LIMIT . LEAVE, 'control: ' . LIMIT] as $guard) {
    echo "== $guard\n";
    $ini = ['tokenbucket.guard' => str_replace('control: ', '', $guard)] + PROXIES;
    with_web_servers($ini, SCRIPTS, function (string $name, int $port) {
        echo "$name: exports ", json_encode(load($port, '/export/1', 400, 1)), ', checkout ', json_encode(load($port, '/checkout.php', 100, 2));
        echo ', then ', probe($port, '/checkout.php', 2), ' ', probe($port, '/search', 1), "\n";
    }, 'nginx and php-fpm', 'mod_php');
}

echo "== at the same time, with 4 times the load\n";
with_web_servers(['tokenbucket.guard' => LIMIT . LEAVE] + PROXIES, SCRIPTS, function (string $name, int $port) {
    $results = in_processes(5, fn (int $i) => $i === 0 ? load($port, '/checkout.php', 100, 2) : load($port, ['/export', '/search'][$i % 2], 100, $i));
    $exports = array_sum(array_map(fn (array $counts) => $counts[200] ?? 0, array_slice($results, 1)));
    $denied = array_sum(array_map(fn (array $counts) => $counts[503] ?? 0, array_slice($results, 1)));
    check($exports >= 200 && $exports <= 300 && $exports + $denied === 400, "$exports exports, $denied denied");
    $rest = load($port, '/checkout.php', 310 - $exports, 3);
    echo "$name: checkout ", json_encode($results[0]), ', all ', 100 + $exports + $rest[200], " tokens\n";
}, 'nginx and php-fpm', 'mod_php');

echo "== the response, the row and several limits\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'all 24/day burst 4 leave 2 on /export* leave 1 on POST /export,/x; ip 9/day block 1 hour leave 8 on /export/9; ip 1/day burst 3']);
$script = $fpm->script('script', SCRIPT);
$send = function (string $uri, string $client, string $method) use ($fpm, $script): string {
    $response = $fpm->request($script, ['REMOTE_ADDR' => $client, 'REQUEST_URI' => $uri, 'REQUEST_METHOD' => $method]);
    $fields = array_intersect_key($response['fields'], ['ratelimit' => 0, 'ratelimit-policy' => 0, 'retry-after' => 0]);
    ksort($fields);
    return "$response[status] " . trim(preg_replace('/script.*/', '', $response['body'])) . ' ' . json_encode($fields);
};
// The second limit denies, without a block, and the first one keeps its tokens.
foreach ([
    ['/export/9', 1, 'GET'], ['/export/9', 1, 'GET'], ['/export', 2, 'POST'], ['/export', 2, 'POST'], ['/x', 3, 'POST'], ['/x', 3, 'POST'], ['/', 4, 'GET'], ['/', 4, 'GET'],
] as [$uri, $client, $method]) {
    echo "$method $uri: ", $send($uri, "192.0.2.$client", $method), "\n";
}
echo json_encode(decisions($fpm, 'guard: all 24/day burst 4 leave 1 on POST /export,/x leave 2 on /export*')), "\n";
$fpm->stop();

echo "== permits\n";
$guard = 'all concurrent 3 leave 2 on /export.php name workers';
with_web_servers(['tokenbucket.guard' => $guard] + PROXIES, ['export' => HOLD, 'checkout' => HOLD], function (string $name, int $port) {
    [$exports, $checkout] = [new Held($port, '/export.php'), new Held($port, '/checkout.php')];
    $exports->start(1);
    echo "$name: ", probe($port, '/export.php', 2), ' ', probe($port, '/checkout.php', 2);
    $checkout->start(3);
    $checkout->start(4);
    echo ', then ', probe($port, '/export.php', 5), ' ', probe($port, '/checkout.php', 5), ', ', $exports->end();
    // A permit is free, and an export must leave two.
    echo ', then ', probe($port, '/export.php', 1), ' ', probe($port, '/checkout.php', 1), ', ', $checkout->end();
    echo ', then ', probe($port, '/export.php', 1), "\n";
}, 'nginx and php-fpm', 'mod_php');

echo "== worker loops\n";
$loop = <<<'PHP'
    $held = [];
    foreach (['/export', '/export', '/', '/export', '/'] as $uri) {
        $held[] = $permit = TokenBucket\guard(['REMOTE_ADDR' => '192.0.2.1', 'REQUEST_URI' => $uri]);
        $it = $permit->decision;
        echo "$uri: $it->reason, $it->remaining of $it->capacity left, ", $it->headers()['RateLimit-Policy'], ", $it->refusedBy\n";
    }
    PHP;
foreach (['ip 3/day leave 2 on /export name a', 'ip concurrent 3 leave 2 on /export'] as $guard) {
    echo preg_replace('/w=\d+/', 'w=…', php_run($loop, ['tokenbucket.guard' => $guard]));
}
?>
--EXPECTF--
== all 1/day burst 400 leave 100 on /export*,/search name site
nginx and php-fpm: exports {"200":300,"503":100}, checkout {"200":100}, then 429 429
mod_php: exports {"200":300,"503":100}, checkout {"200":100}, then 429 429
== control: all 1/day burst 400
nginx and php-fpm: exports {"200":400}, checkout {"429":100}, then 429 429
mod_php: exports {"200":400}, checkout {"429":100}, then 429 429
== at the same time, with 4 times the load
nginx and php-fpm: checkout {"200":100}, all 400 tokens
mod_php: checkout {"200":100}, all 400 tokens
== the response, the row and several limits
GET /export/9: 200  []
GET /export/9: 503 Service unavailable. {"ratelimit":"\"guard\";r=0;t=%d","ratelimit-policy":"\"guard\";q=1;w=86400","retry-after":"9%d"}
POST /export: 200  []
POST /export: 503 Service unavailable. {"ratelimit":"\"guard\";r=0;t=%d","ratelimit-policy":"\"guard\";q=2;w=14400","retry-after":"3%d"}
POST /x: 200  []
POST /x: 503 Service unavailable. {"ratelimit":"\"guard\";r=0;t=%d","ratelimit-policy":"\"guard\";q=3;w=14400","retry-after":"3%d"}
GET /: 200  []
GET /: 429 Too many requests. {"ratelimit":"\"guard\";r=0;t=%d","ratelimit-policy":"\"guard\";q=4;w=14400","retry-after":"3%d"}
{"granted":4,"denied":3}
== permits
nginx and php-fpm: 503 200, then 503 503, held, then 503 200, held held, then 200
mod_php: 503 200, then 503 503, held, then 503 200, held held, then 200
== worker loops
/export: granted, 2 of 3 left, "default";q=1;w=…, 
/export: below_floor, 2 of 3 left, "default";q=1;w=…, ip 3/day burst 3 leave 2 on /export name a
/: granted, 1 of 3 left, "default";q=3;w=…, 
/export: below_floor, 1 of 3 left, "default";q=1;w=…, ip 3/day burst 3 leave 2 on /export name a
/: granted, 0 of 3 left, "default";q=3;w=…, 
/export: granted, 0 of 1 left, "default";q=1;qu="concurrent-requests", 
/export: below_floor, 0 of 1 left, "default";q=1;qu="concurrent-requests", ip concurrent 3 leave 2 on /export
/: granted, 1 of 3 left, "default";q=3;qu="concurrent-requests", 
/export: below_floor, 0 of 1 left, "default";q=1;qu="concurrent-requests", ip concurrent 3 leave 2 on /export
/: granted, 0 of 3 left, "default";q=3;qu="concurrent-requests", 

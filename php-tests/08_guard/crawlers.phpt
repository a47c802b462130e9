--TEST--
The guard: a flood of 5,000 addresses without a cookie gets what the limit allows, and people with a cookie get their pages
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

/** The requests of a flood, from a quarter of as many addresses. The documentation has 20000. */
define('REQUESTS', (int) (getenv('TOKENBUCKET_FLOOD') ?: 400));
/** The requests that a client sends at once. The Apache of the tests ends each connection. */
const PIPELINED = ['nginx and php-fpm' => 50, 'Apache and php-fpm' => 1];
const FLOODERS = 4;
const PEOPLE = 20;
const BURST = 20;
const RATE = 5;
/** The sites: the cookie of a session, and a page by its number. */
const SITES = [
    '500 scripts' => ['forum_sid_*', 'forum_sid_1', '/topic%d.php?start=10'],
    'WordPress' => ['wordpress_logged_in_*', 'wordpress_logged_in_0f', '/2024/05/post-%d/'],
    'Laravel' => ['laravel_session', 'laravel_session', '/articles/%d'],
];
$scripts = ['index' => '<?php echo "page";', 'status' => '<?php echo json_encode(array_column(TokenBucket\status()["decisions"], null, "namespace"));'];
for ($i = 0; $i < 500; $i++) {
    $scripts["topic$i"] = "<?php echo 'topic $i';";
}

/** Returns an address of the flood. Its addresses are in 20 networks. */
function address(int $request): string
{
    $number = $request % intdiv(REQUESTS, 4);
    return sprintf('203.0.%d.%d', $number % 20, 1 + intdiv($number, 20) % 250);
}

/**
 * Sends every fourth request of the flood as fast as the server replies. Returns the numbers of
 * responses by status. Also returns the instants, in seconds, of the first response and of the
 * sending of the last group with a denial.
 */
function flood(string $server, int $port, string $page, array $lines, int $index): array
{
    [$statuses, $first, $denied] = [[], null, 0.0];
    foreach (array_chunk(range($index, REQUESTS - 1, FLOODERS), PIPELINED[$server]) as $group) {
        $requests = '';
        foreach ($group as $request) {
            $target = sprintf($page, $request % 500);
            $requests .= implode("\r\n", ["GET $target HTTP/1.1", 'Host: localhost', 'X-Forwarded-For: ' . address($request), ...$lines, "Connection: keep-alive\r\n\r\n"]);
        }
        $stream = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 60);
        stream_set_timeout($stream, 60);
        $sent = hrtime(true) / 1e9;
        fwrite($stream, $requests);
        $received = '';
        while (substr_count($received, 'HTTP/1.1 ') < count($group) && !feof($stream)) {
            $received .= fread($stream, 65536);
            $first ??= hrtime(true) / 1e9;
        }
        preg_match_all('/HTTP\/1\.1 (\d+)/', $received, $found);
        foreach ($found[1] as $status) {
            $statuses[$status] = ($statuses[$status] ?? 0) + 1;
        }
        in_array('429', $found[1], true) && $denied = $sent;
    }
    return [$statuses, $first, $denied];
}

/** Loads pages as a person with a session until the flood is over. Returns the loads by status. */
function visit(int $port, string $page, string $cookie, int $person, callable $is_over, int $most): array
{
    $loads = [];
    do {
        $lines = ["X-Forwarded-For: 198.51.$person.1", "Cookie: theme=dark; $cookie=abc%3D$person"];
        $status = http_request($port, sprintf($page, array_sum($loads) % 500), $lines)[0] ?? 'lost';
        $loads[$status] = ($loads[$status] ?? 0) + 1;
    } while ((array_sum($loads) < 3 || !$is_over()) && array_sum($loads) < $most);
    return $loads;
}

/**
 * Floods a site beside the people. Returns the responses to the flood and the loads of the people
 * by status, and the least and the greatest number of requests that the limit may grant.
 */
function flood_beside_people(string $server, int $port, array $site, array $lines = [], int $most = PHP_INT_MAX): array
{
    [, $cookie, $page] = $site;
    $ends = temporary_folder();
    $start = hrtime(true) / 1e9;
    $results = in_processes(FLOODERS + PEOPLE, function (int $index) use ($server, $port, $page, $cookie, $lines, $most, $ends) {
        if ($index >= FLOODERS) {
            return visit($port, $page, $cookie, $index, fn () => count(glob("$ends/*")) === FLOODERS, $most);
        }
        $result = flood($server, $port, $page, $lines, $index);
        touch("$ends/$index");
        return $result;
    });
    $took = hrtime(true) / 1e9 - $start;
    [$floods, $visits] = [array_slice($results, 0, FLOODERS), array_slice($results, FLOODERS)];
    // The bucket is full until the first grant, which precedes the first response. It lacks a token
    // at each denial.
    $between = max(array_column($floods, 2)) - min(array_column($floods, 1));
    return [sum(array_column($floods, 0)), sum($visits), BURST + RATE * $between - 1, BURST + RATE * $took];
}

function sum(array $counts): array
{
    $sum = [];
    foreach ($counts as $of) {
        foreach ($of as $status => $count) {
            $sum[$status] = ($sum[$status] ?? 0) + $count;
        }
    }
    return $sum;
}

/** Returns the decisions of a limit. */
function row(int $port, string $limit, string $cookie): array
{
    $rows = json_decode(http_request($port, '/status.php', ["Cookie: $cookie=1", 'X-Forwarded-For: 198.51.100.1'])[1], true);
    return [$rows["guard: $limit"]['granted_by_store'] ?? 0, $rows["guard: $limit"]['denied_by_store'] ?? 0];
}

$report = getenv('TOKENBUCKET_FLOOD') ? fn (string $line) => fwrite(STDERR, "$line\n") : fn () => null;
foreach (SITES as $name => $site) {
    $limit = "unless cookie $site[0] all " . RATE . '/second burst ' . BURST;
    foreach (['observe', 'enforce'] as $mode) {
        $ini = ['tokenbucket.guard' => $limit, 'tokenbucket.guard_mode' => $mode, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
        with_web_servers($ini, $scripts, function (string $server, int $port) use ($name, $site, $limit, $mode, $report) {
            [$flood, $people, $least, $greatest] = flood_beside_people($server, $port, $site);
            [$granted, $denied] = row($port, $limit, $site[1]);
            $report(sprintf('%s, %s, %s: flood %s, row %d granted and %d denied, from %.1f to %.1f allowed, people %s', $name, $server, $mode, json_encode($flood), $granted, $denied, $least, $greatest, json_encode($people)));
            check(array_keys($people) === [200] && $people[200] >= 3 * PEOPLE, "$name, $server, $mode: people " . json_encode($people));
            check($granted + $denied === REQUESTS, "$name, $server, $mode: $granted and $denied counted");
            check($granted <= $greatest && $granted >= BURST, "$name, $server, $mode: $granted of at most $greatest granted");
            if ($mode === 'observe') {
                check($flood === [200 => REQUESTS], "$name, $server: denied " . json_encode($flood));
                return;
            }
            check($flood == [200 => $granted, 429 => $denied], "$name, $server: " . json_encode($flood));
            check($granted >= $least, "$name, $server: $granted of at least $least granted");
        }, ...array_keys(PIPELINED));
    }
}

// A client can send any cookie. Then only a limit that counts everybody limits it.
$site = SITES['Laravel'];
$forged = ["Cookie: $site[1]=forged"];
$alone = "unless cookie $site[0] all 5/second burst 20";
foreach (['alone' => '', 'beside a limit of networks' => '; net 30/day burst 10'] as $how => $beside) {
    with_web_servers(['tokenbucket.guard' => $alone . $beside, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1'], $scripts, function (string $server, int $port) use ($site, $forged, $how, $report) {
        [$flood, $people] = flood_beside_people($server, $port, $site, $forged, 10);
        check(array_keys($people) === [200], "forged cookies, $how: people " . json_encode($people));
        $report("forged cookies, $how: " . json_encode($flood) . ', people ' . json_encode($people));
        echo "forged cookies, $how: ", $flood[200] === REQUESTS ? 'all' : $flood[200], " pass\n";
    }, 'nginx and php-fpm');
}
?>
--EXPECT--
forged cookies, alone: all pass
forged cookies, beside a limit of networks: 200 pass

--TEST--
The guard: limits for requests without a cookie, for agents and for networks count these on each web server
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

const GUARD = 'unless cookie wordpress_logged_in_* all 20/second; agent GPTBot all 1/second; unless cookie PHPSESSID net 300/minute burst 100; unless cookie laravel_session all concurrent 12';
const STATUS = '<?php foreach (TokenBucket\status()["decisions"] as $row) {
    preg_match("/^guard: (agent|unless)/", $row["namespace"]) && print("$row[namespace]: " . $row["granted_by_store"] + $row["denied_by_store"] . "\n");
}';
/** Header lines of requests, of which each row counts some. */
const REQUESTS = [
    [], ['Cookie: x=PHPSESSID=1'], ['User-Agent: Mozilla/5.0 (compatible; gptbot/1.2)'], ['User-Agent: GPTBo', 'Cookie: x=1; PHPSESSID=1'],
    ['Cookie: wordpress_logged_in_0123=a%7C1'], ['Cookie: wordpress_logged_in=1'], ['Cookie: laravel_session=; PHPSESSID'],
    ['Cookie: wordpress_logged_in_1=1;PHPSESSID=1;laravel_session=1', 'User-Agent: GPTBot'],
];
/** A request that no row counts. */
const KNOWN = ['Cookie: wordpress_logged_in_1=1; PHPSESSID=1; laravel_session=1', 'User-Agent: test'];

$ini = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
$observing = ['tokenbucket.guard' => GUARD, 'tokenbucket.guard_mode' => 'observe'];
with_web_servers($observing + $ini, ['index' => SCRIPT, 'status' => STATUS], function (string $name, int $port) {
    foreach (REQUESTS as $lines) {
        http_request($port, '/', ['X-Forwarded-For: 192.0.2.1', ...$lines]);
    }
    echo "== $name\n", http_request($port, '/status.php', ['X-Forwarded-For: 192.0.2.1', ...KNOWN])[1];
});

// Each line is the statuses of requests against a limit of two in a day.
$path = segment_path();
$limits = [
    'unless cookie a,b.c* all 2/day' => [[], [], [], ['Cookie: a'], ['Cookie: b_c2=1'], ['Cookie: b=1'], ['Cookie: %61=1'], ['Cookie: a[0]=1']],
    'agent Evil%20Bot,x%2Cy%3Bz%2A%5B all 2/day' => [['User-Agent: evil bot'], ['User-Agent: (X,Y;Z*[)'], ['User-Agent: EVIL BOT/2'], ['User-Agent: Evil%20Bot'], []],
    'on /index.php unless cookie a agent b net 2/day' => [['User-Agent: b'], ['User-Agent: abc'], ['User-Agent: b'], ['User-Agent: b', 'Cookie: a'], ['User-Agent: c']],
    'net 2/day' => array_map(fn (string $address) => ["X-Forwarded-For: $address"], [
        '192.0.2.1', '::ffff:192.0.2.255', '192.0.2.3', '192.0.3.1', '8.8.8.8', '64:ff9b::8.8.8.9', '8.8.8.10', '2001:db8:1::1', '2001:db8:1:ffff::1', '2001:db8:1:2::3', '2001:db8:2::1',
    ]),
];
$ini += ['tokenbucket.shm_path' => $path];
foreach ($limits as $limit => $requests) {
    with_web_servers(['tokenbucket.guard' => $limit] + $ini, ['index' => SCRIPT], function (string $name, int $port) use ($limit, $requests) {
        // Two lines of X-Forwarded-For are one list, whose last address counts.
        $status = fn (array $lines) => http_request($port, '/', ['X-Forwarded-For: 192.0.2.1', ...$lines])[0] ?? 'lost';
        echo "$limit: ", implode(' ', array_map($status, $requests)), "\n";
    }, 'nginx and php-fpm');
}
foreach (['peek 192.0.2.77', 'reset 192.0.2.0/24', 'block 2001:db8:2::/48 60', 'peek 2001:db8:2:3::1', 'peek 192.0.2.0/25'] as $command) {
    $printed = php_run_file(__DIR__ . '/../../bin/tokenbucket', ['tokenbucket.shm_path' => $path], "$command --guard='net 2/day' 2>&1");
    echo preg_replace('/the next token in [\d.]+ s/', 'the next token in N s', $printed);
}
foreach (['tokenbucket.guard_allow' => '192.0.2.9', 'tokenbucket.guard_trusted_proxies' => '2001:db8:1:7::1'] as $setting => $address) {
    $network = str_contains($address, ':') ? '2001:db8:1::/48' : '192.0.2.0/24';
    echo php_run_file(__DIR__ . '/../../bin/tokenbucket', ['tokenbucket.shm_path' => $path, $setting => $address], "block $network 60 --guard='net 2/day' 2>&1");
}
?>
--EXPECT--
== nginx and php-fpm
guard: agent gptbot all 1/second burst 1: 2
guard: unless cookie PHPSESSID net 300/minute burst 100: 5
guard: unless cookie laravel_session all concurrent 12: 6
guard: unless cookie wordpress_logged_in_* all 20/second burst 20: 6
== Apache and php-fpm
guard: agent gptbot all 1/second burst 1: 2
guard: unless cookie PHPSESSID net 300/minute burst 100: 5
guard: unless cookie laravel_session all concurrent 12: 6
guard: unless cookie wordpress_logged_in_* all 20/second burst 20: 6
== mod_php
guard: agent gptbot all 1/second burst 1: 2
guard: unless cookie PHPSESSID net 300/minute burst 100: 5
guard: unless cookie laravel_session all concurrent 12: 6
guard: unless cookie wordpress_logged_in_* all 20/second burst 20: 6
== php-cgi
guard: agent gptbot all 1/second burst 1: 2
guard: unless cookie PHPSESSID net 300/minute burst 100: 5
guard: unless cookie laravel_session all concurrent 12: 6
guard: unless cookie wordpress_logged_in_* all 20/second burst 20: 6
== PHP's own web server
guard: agent gptbot all 1/second burst 1: 2
guard: unless cookie PHPSESSID net 300/minute burst 100: 5
guard: unless cookie laravel_session all concurrent 12: 6
guard: unless cookie wordpress_logged_in_* all 20/second burst 20: 6
unless cookie a,b.c* all 2/day: 200 200 429 200 200 429 429 200
agent Evil%20Bot,x%2Cy%3Bz%2A%5B all 2/day: 200 200 429 200 200
on /index.php unless cookie a agent b net 2/day: 200 200 429 200 200
net 2/day: 200 200 429 200 200 200 429 200 200 429 200
192.0.2.0/24: 0 of 2 tokens, the next token in N s
192.0.2.0/24: 2 of 2 tokens
2001:db8:2::/48: 0 of 2 tokens, the next token in N s
2001:db8:2::/48: 0 of 2 tokens, the next token in N s
tokenbucket: CLIENT must have a network such as 192.0.2.0/24 or 2001:db8:1::/48, or an address in it, for the key "net"
tokenbucket: tokenbucket.guard_allow has this client, so it is not blocked
tokenbucket: tokenbucket.guard_trusted_proxies has this client, so it is not blocked

--TEST--
The command tokenbucket advise reads logs of many forms, replays limits and proposes some
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
$write = function (string $name, string $text) use ($folder): string {
    file_put_contents("$folder/$name", $text);
    return "$folder/$name";
};
/** Runs the command, and prints its output. */
function advise(string $arguments): string
{
    $printed = php_run_file(__DIR__ . '/../../bin/tokenbucket', [], "advise $arguments 2>&1; echo \"status $?\"");
    return str_replace([$GLOBALS['folder'] . '/', $GLOBALS['folder']], ['', 'the folder'], $printed);
}
/** Returns the report. */
function report(string $arguments): array
{
    return json_decode(explode("\nstatus", advise("$arguments --json"))[0], true, flags: JSON_THROW_ON_ERROR);
}
$denied = fn (array $report): string => implode(', ', array_map(fn (array $limit) => "$limit[denied_requests] of $limit[requests]", $report['limits']));

// Two clients send a request each second. The first one also has a cookie.
const SECONDS = 1_795_937_100;
$formats = [
    'combined' => [null, fn (int $at, string $ip) => "$ip - - [" . gmdate('d/M/Y:H:i:s', $at) . ' +0000] "GET /a?b HTTP/1.1" 200 1 "-" "curl/8"'],
    'common, an hour ahead' => [null, fn (int $at, string $ip) => "$ip - - [" . gmdate('d/M/Y:H:i:s', $at + 3600) . ' +0100] "GET /a HTTP/1.1" 200 1'],
    "nginx' packages" => [null, fn (int $at, string $ip) => '10.0.0.5 - - [' . gmdate('d/M/Y:H:i:s', $at) . " +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"x \\\" y\" \"$ip\""],
    "Apache's vhost_combined" => [null, fn (int $at, string $ip) => "example.org:443 $ip - - [" . gmdate('d/M/Y:H:i:s', $at) . ' +0000] "GET /a HTTP/1.1" 200 1 "-" "curl/8"'],
    'nginx' => ['$remote_addr [$time_local] $msec $request_time "$request" $upstream_addr', fn (int $at, string $ip) => "$ip [" . gmdate('d/M/Y:H:i:s', $at) . " +0000] $at.500 0.500 \"GET /a HTTP/1.1\" unix:/x"],
    'nginx, ISO 8601' => ['$time_iso8601|$remote_addr|$request_method|$request_uri', fn (int $at, string $ip) => gmdate('Y-m-d\TH:i:s+00:00', $at) . "|$ip|GET|/a"],
    'Apache' => ['%h %l %u %t \"%r\" %>s %b %D', fn (int $at, string $ip) => "$ip - - [" . gmdate('d/M/Y:H:i:s', $at) . ' +0000] "GET /a HTTP/1.1" 200 1 1200'],
    'Apache, microseconds' => ['%{usec}t %a %m %U%q', fn (int $at, string $ip) => $at . "000000 $ip GET /a?b"],
    'Apache, several fields for a value' => ['%{c}a %a %h %D %T %{usec}t %t %m %U', fn (int $at, string $ip) => "10.0.0.5 $ip a.example 1200 7 {$at}000000 [" . gmdate('d/M/Y:H:i:s', $at + 5) . ' +0000] GET /a'],
    'users with the text that ends them' => ['%h %u %t \"%r\"', fn (int $at, string $ip) => "$ip x [" . gmdate('d/M/Y:H:i:s', $at + 99) . ' +0000 [' . gmdate('d/M/Y:H:i:s', $at) . ' +0000] "GET /a HTTP/1.1"'],
    'JSON' => [null, fn (int $at, string $ip) => json_encode(['ts' => $at + .25, 'request' => ['remote_ip' => $ip, 'method' => 'GET', 'uri' => "/a\"\\\n"]])],
    'JSON with keys' => ['json remote_addr=c.ip msec=when request_uri=p', fn (int $at, string $ip) => json_encode(['when' => gmdate('c', $at), 'p' => '/a', 'c' => compact('ip')])],
];
foreach ($formats as $name => [$format, $line]) {
    $lines = [];
    for ($second = 0; $second < 20; $second++) {
        array_push($lines, $line(SECONDS + $second, '192.0.2.1'), $line(SECONDS + $second, '192.0.2.2'));
    }
    $log = $write('log', implode("\n", $lines));
    $option = $format === null ? '' : ' --format=' . escapeshellarg($format);
    $report = report("$log$option --guard='ip 6/minute burst 3; on /a* all 1/hour; on /b ip 1/day' --mode=observe --trusted-proxies=10.0.0.5");
    echo "$name: {$denied($report)}, {$report['limits'][0]['longest_wait']} s\n";
}
echo "== first lines without a request or without a key, after an empty log\n";
$empty = $write('empty', '');
$json = fn (int $second, string $forwarded): string => json_encode(['ts' => SECONDS + $second, 'ip' => '10.0.0.5', 'method' => 'GET', 'uri' => '/a', 'http_x_forwarded_for' => $forwarded]);
$logs = [
    'combined' => ['192.0.2.9 - - [29/Nov/2026:07:24:00 +0000] "-" 408 0 "-" "-"', "cut\" 2", ...array_map(fn (int $second) => $formats['combined'][1](SECONDS + $second, '192.0.2.1'), range(0, 19))],
    'JSON' => ['started', '{"ts":1795937100,"ip":"10.0.0.5","method":"GET","uri":"/a"}', ...array_map(fn (int $second) => $json($second, "192.0.2.$second"), range(1, 20))],
];
foreach ($logs as $name => $lines) {
    $report = report("$empty {$write('log', implode("\n", $lines))} --guard='ip 1/day' --trusted-proxies=10.0.0.5");
    echo "$name: {$denied($report)}\n";
}
echo "== several logs, compressed, in any order, and standard input\n";
$lines = array_map(fn (int $second) => $formats['combined'][1](SECONDS + $second, '192.0.2.1') . "\n", range(0, 99));
$first = $write('first.gz', gzencode(implode('', array_slice($lines, 0, 30))) . gzencode(implode('', array_slice($lines, 30, 20))));
$second = $write('second', implode('', array_slice($lines, 50)));
echo $denied(report("$second $first --guard='ip 30/minute burst 10'")), "\n", $denied(report("- --guard='ip 30/minute burst 10' < $first")), "\n";

echo "== conditions, blocks and concurrent requests\n";
$format = '$msec $request_time $remote_addr "$request" "$http_x_forwarded_for" "$cookie_a" "$http_user_agent"';
$log = $write('log', implode("\n", array_map(fn (int $i) => SECONDS + $i . ".000 2.500 10.0.0.1 \"POST /login HTTP/1.1\" \"x, 192.0.2.$i\" \"" . ($i % 2 ? 'b' : '-') . "\" \"bot\"", range(10, 29))));
foreach (['unless cookie a all 1/day', 'agent BOT all 1/day', 'on POST /login all 1/day', 'on GET /login all 1/day', 'net 1/day', 'all concurrent 2', 'all concurrent 3', 'all concurrent 3 leave 1 on /login', 'all 1/day burst 5 leave 3 on /login'] as $limit) {
    $report = report("$log --trusted-proxies=10.0.0.0/8 --format=" . escapeshellarg($format) . ' --cookie=a --guard=' . escapeshellarg($limit));
    echo "$limit: {$denied($report)}, with a cookie ", $report['limits'][0]['with_cookie'] ?? 0, "\n";
}
foreach (['ip 30/minute burst 10', 'ip 30/minute burst 10 block 60 seconds'] as $limit) {
    echo "$limit: {$denied(report("$second --guard='$limit'"))}\n";
}
echo advise("$log --format=" . escapeshellarg($format) . " --guard='unless cookie a* all 1/day'"), advise("$second --guard='all concurrent 2'");
echo advise("$second --guard='agent x all 1/day; ip 5/week'"), advise("$second --guard=" . $write('no.ini', 'tokenbucket.guard=""'));
$ini = $write('php.ini', "tokenbucket.guard=\"ip 1/hour; all 2/hour\"\ntokenbucket.guard_mode=observe\ntokenbucket.guard_allow=192.0.2.9\n[Date]\ndate.timezone=UTC\ntokenbucket.guard_local=\"ip 1/day\"\n[Host=a.example]\ntokenbucket.guard_mode=enforce\n[Session]\ntokenbucket.guard=\"all 9/hour\"\n");
$report = report("$second --guard=$ini");
echo "a php.ini: $report[mode], {$denied($report)}\n", implode("\n", preg_grep('/replayed/', $report['notes'])), "\n";
putenv('TOKENBUCKET_TEST=3');
$ini = $write('php.ini', "[PHP]\ntokenbucket.guard='all 7/hour'\n[x]\ntokenbucket.guard=\"all \${TOKENBUCKET_TEST}/hour\"\n[PHP]\ntokenbucket.guard_mode=' observe '\ntokenbucket.guard_allow[]=x\n");
$report = report("$second --guard=$ini");
echo "sections and variables: $report[mode], {$denied($report)}\n";

echo "== a proposal: one client in a thousand is too fast\n";
$lines = [];
for ($client = 0; $client < 1000; $client++) {
    for ($request = 0; $request < ($client === 500 ? 200 : 1 + $client % 5); $request++) {
        $lines[] = [SECONDS + $client * 100 + $request, intdiv($client, 250), $client % 250];
    }
}
sort($lines);
$log = $write('log', implode("\n", array_map(fn (array $line) => $formats['combined'][1]($line[0], "198.51.$line[1].$line[2]"), $lines)));
echo preg_replace('/\n\S.* by (net|all):.*(\n .*)+\n/', '', advise("$log --group=pages=/a*,/b"));

echo "== each proposed limit denies what its own replay denies\n";
$script = '$remote_addr [$time_local] "$request" $fastcgi_script_name $request_filename';
$combined = fn (string $ip, string $path): string => preg_replace('{/a\?b}', $path, $formats['combined'][1](SECONDS, $ip)) . "\n";
foreach (['overlapping groups' => "--group=search=/search --group='rest=/*'", 'groups found without the script' => '',
    'groups found with the script' => '--format=' . escapeshellarg($script)] as $name => $options) {
    $lines = '';
    for ($client = 0; $client < 20; $client++) {
        foreach (['/', '/news/1', '/news/2', '/news/3', '/index.php?p=1', '/tags/../news/4', '/tags/../news/5', '/tags/1', '/newsletter', '/search', '/search'] as $path) {
            $line = str_contains($options, '$') ? "192.0.2.$client [" . gmdate('d/M/Y:H:i:s', SECONDS) . " +0000] \"GET $path HTTP/1.1\" /index.php /srv/index.php\n" : $combined("192.0.2.$client", $path);
            $lines .= str_repeat($line, $client === 0 ? 5 : 1);
        }
    }
    $log = $write('log', $lines);
    $report = report("$log $options --hit=5%");
    $predicted = array_column(array_merge(...array_column($report['groups'], 'candidates')), 'denied_requests', 'limit');
    $replayed = array_column(report("$log --mode=observe " . preg_replace('/--group.*/', '', $options) . ' --guard=' . escapeshellarg(implode('; ', array_keys($predicted))))['limits'], 'denied_requests');
    echo "$name: $report[setting], ", array_sum($predicted), " denied\n", implode("\n", preg_grep('/script/', $report['notes'])), "\n";
    check(array_values($predicted) === $replayed, json_encode([$predicted, $replayed]));
}
shell_exec("mkfifo $folder/pipe");
check(report("- $options --hit=5% --json < $folder/pipe & cat $log > $folder/pipe; wait; :") === $report, 'a pipe has another report');

echo "== names of hosts\n";
$report = report("$empty {$write('hosts', preg_replace('/^192\S+/m', 'a.example', file_get_contents($second)))} --format=combined --guard='all 1/day'");
echo $denied($report), "\n", implode("\n", preg_grep('/one client/', $report['notes'])), "\n";

echo "== files that are written\n";
$page = $write('page.html', str_repeat('x', 99_999));
$log = file_get_contents($second);
foreach (["$second --html=$page --guard=x", "$second --html=$page --hit=x", "$second --html=$second", "$second --guard='all 1/day' --decisions=$second", "$second --guard='all 1/day' --decisions=$page --html=$page", "{$write('unserved', $logs['combined'][0])} --guard='all 1/day' --decisions=$page"] as $arguments) {
    echo advise($arguments);
    check(filesize($page) === 99_999 && file_get_contents($second) === $log, "$arguments has written");
}
advise("$second --html=$page");
check(str_ends_with(file_get_contents($page), "</html>\n"), 'the end of the page');
advise("$second --guard='all 1/day' --decisions=$page");
echo count(array_map(json_decode(...), file($page))), " decisions\n";

echo "== bad input\n";
$text = "192.0.2.1 - - [29/Nov/2026:07:26:33 +0000] \"GET /\x1b[31m<script> HTTP/1.1\" 200 1 \"-\" \"\x1b]0;x\x07<b>\"\n";
$page = "$folder/page.html";
$bad = $write('bad', str_repeat($text, 5) . "nonsense \x1b[2J\n192.0.2.1 - - [29/Nov/2026:07:26:33] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n" . "192.0.2.1 - - [29/Nov/2026:07:26:33 +0000] \"\\x16\\x03\" 400 1 \"-\" \"-\"\n" . str_repeat('x', 1_100_000) . "\n" . "192.0.2.1 - - [29/Nov/2026:06:26:33 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"");
$printed = advise("$bad --guard='all 1/day' --html=$page");
check(preg_match('/[^\n -~]/', $printed) === 0, 'control characters are printed');
echo $printed, substr_count(file_get_contents($page), '<script'), substr_count(file_get_contents($page), '<b>'), " tags of the log\n";
check(!str_contains(advise("$bad --guard='all 1/day' --anonymise"), '192.0.2.1'), 'addresses are printed');
$cut = $write('cut.gz', substr(gzencode(str_repeat($text, 2000) . random_bytes(9000)), 0, -5000));
echo preg_match('/Note: cut.*/', advise("$cut --guard='all 1/day' --format=combined"), $note) ? "$note[0]\n" : "no note\n";
foreach (["$second --guard=' ; '", "$folder/none", $folder, $write('binary', "\x7fELF\0\0"), "$empty $empty", $write('text', "a\nb\n"), "$second --format=x", "$second --format='\$remote_addr'", "$second --format='%{%d}t %h %r'", "$second --format='\$remote_addr\$msec\$request'", "$second --hit=100%", "$second --group=x", "$second --group='x=/a\"b'", "$second --group='x=/\$a'", "$second --group='x=/\x1b\xff'", "$second --group='x=/a ip 1/day; on /b'", "$second --group=x=/a --group=x=/b", "$second --cookie='x all 1/day; on /a' --guard='all 1/day'", "$second --mode=x --guard='all 1/day'", "$second --html=$folder/no/where", "$second --html=/dev/full", "$second --guard='all 1/day' --decisions=/dev/full", "{$write('text', "a\nb\n")} --anonymise"] as $arguments) {
    echo advise($arguments);
}
?>
--EXPECT--
combined: 32 of 40, 39 of 40, 0 of 0, 9 s
common, an hour ahead: 32 of 40, 39 of 40, 0 of 0, 9 s
nginx' packages: 32 of 40, 39 of 40, 0 of 0, 9 s
Apache's vhost_combined: 32 of 40, 39 of 40, 0 of 0, 9 s
nginx: 32 of 40, 39 of 40, 0 of 0, 9 s
nginx, ISO 8601: 32 of 40, 39 of 40, 0 of 0, 9 s
Apache: 32 of 40, 39 of 40, 0 of 0, 9 s
Apache, microseconds: 32 of 40, 39 of 40, 0 of 0, 9 s
Apache, several fields for a value: 32 of 40, 39 of 40, 0 of 0, 9 s
users with the text that ends them: 32 of 40, 39 of 40, 0 of 0, 9 s
JSON: 32 of 40, 0 of 0, 0 of 0, 9 s
JSON with keys: 32 of 40, 39 of 40, 0 of 0, 9 s
== first lines without a request or without a key, after an empty log
combined: 19 of 20
JSON: 0 of 21
== several logs, compressed, in any order, and standard input
41 of 100
16 of 50
== conditions, blocks and concurrent requests
unless cookie a all 1/day: 9 of 10, with a cookie 0
agent BOT all 1/day: 19 of 20, with a cookie 10
on POST /login all 1/day: 19 of 20, with a cookie 10
on GET /login all 1/day: 0 of 0, with a cookie 0
net 1/day: 19 of 20, with a cookie 10
all concurrent 2: 6 of 20, with a cookie 3
all concurrent 3: 0 of 20, with a cookie 0
all concurrent 3 leave 1 on /login: 6 of 20, with a cookie 3
all 1/day burst 5 leave 3 on /login: 18 of 20, with a cookie 9
ip 30/minute burst 10: 16 of 50
ip 30/minute burst 10 block 60 seconds: 31 of 50
tokenbucket: --guard has the limit "unless cookie a* all 1/day burst 1", which needs HTTP_COOKIE, but the format of the log lacks it
status 2
tokenbucket: --guard has the limit "all concurrent 2", which needs DURATION, but the format of the log lacks it
status 2
tokenbucket: --guard must have second, minute, hour or day at position 25, "week" given
status 2
tokenbucket: no.ini has no limit in tokenbucket.guard
Try: tokenbucket help
status 2
a php.ini: observe, 49 of 50, 48 of 50
the settings from [Host=a.example] on are those of a host or a path, and are not replayed
the limits of tokenbucket.guard_local are not replayed
sections and variables: observe, 47 of 50
== a proposal: one client in a thousand is too fast
3199 lines, 3199 requests from 2026-11-29 07:25:00 to 2026-11-30 11:10:04 UTC
Note: the log has no durations, so the instant of a request is that of its line.
Note: the log does not name the script that ran, so limits on paths are replayed by the URI alone.
Note: the log has no cookies.

all paths, by ip: 3199 requests, 1000 clients
  most requests in any        p50      p90      p99    p99.9     most
  10 seconds                    3        5        5        5       10
  minute                        3        5        5        5       60
  hour                          3        5        5        5      200
  ip 5/hour burst 5: denies 195 requests (6.1 %) of 1 clients
  ip 5/minute burst 5: denies 179 requests (5.6 %) of 1 clients
  ip 30/minute burst 3: denies 98 requests (3.06 %) of 1 clients

pages, by ip: 3199 requests, 1000 clients
  most requests in any        p50      p90      p99    p99.9     most
  10 seconds                    3        5        5        5       10
  minute                        3        5        5        5       60
  hour                          3        5        5        5      200
  on /a*,/b ip 5/hour burst 5: denies 195 requests (6.1 %) of 1 clients
  on /a*,/b ip 5/minute burst 5: denies 179 requests (5.6 %) of 1 clients
  on /a*,/b ip 30/minute burst 3: denies 98 requests (3.06 %) of 1 clients

Of the limits that deny at most 0.1 % of the clients, these stop the most requests. Begin with the mode observe:

tokenbucket.guard="ip 5/hour burst 5; on /a*,/b ip 5/hour burst 5 name pages"
status 0
== each proposed limit denies what its own replay denies
overlapping groups: tokenbucket.guard="ip 66/minute burst 11; on /search ip 12/minute burst 2 name search; on /* ip 66/minute burst 11 name rest", 288 denied
the log does not name the script that ran, so limits on paths are replayed by the URI alone
groups found without the script: tokenbucket.guard="ip 66/minute burst 11; on /news* ip 30/minute burst 5; on /search* ip 12/minute burst 2; on /tags* ip 18/minute burst 3", 252 denied
the log does not name the script that ran, so limits on paths are replayed by the URI alone
groups found with the script: tokenbucket.guard="ip 66/minute burst 11; on /news* ip 30/minute burst 5; on /search* ip 12/minute burst 2; on /tags* ip 18/minute burst 3; on /newsletter* ip 6/minute burst 1", 264 denied

== names of hosts
49 of 50
50 requests are of clients without an IP address, such as names of hosts, and count as one client
== files that are written
tokenbucket: --guard must have a key: ip, net, host, path, header:Name or all at position 1, "x" given
status 2
tokenbucket: --hit must be a number greater than 0, x given
Try: tokenbucket help
status 2
tokenbucket: second is a log or the file of another option
Try: tokenbucket help
status 2
tokenbucket: second is a log or the file of another option
Try: tokenbucket help
status 2
tokenbucket: page.html is a log or the file of another option
Try: tokenbucket help
status 2
tokenbucket: the logs have no request that PHP would serve; 1 lines are none (request), such as 192.0.2.9 - - [29/Nov/2026:07:24:00 +0000] "-" 408 0 "-" "-"
Try: tokenbucket help
status 2
50 decisions
== bad input
10 lines, 6 requests from 2026-11-29 06:26:33 to 2026-11-29 07:26:33 UTC
1 lines are no requests (format), such as:
    nonsense \x1b[2J
1 lines are no requests (time without a zone), such as:
    192.0.2.1 - - [29/Nov/2026:07:26:33] "GET / HTTP/1.1" 200 1 "-" "-"
1 lines are no requests (request), such as:
    192.0.2.1 - - [29/Nov/2026:07:26:33 +0000] "\x5cx16\x5cx03" 400 1 "-" "-"
1 lines are no requests (longer than 1 MB), such as:
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
Note: the log has no durations, so the instant of a request is that of its line.
Note: the log has no cookies.
In the mode enforce, 5 requests (83.33 %) of 1 clients would have been denied.

all 1/day burst 1
  denies 5 of 6 requests (83.33 %) and 1 of 1 clients (100 %)
  longest wait: 82800.0 s
  with a cookie of a session: 0 %
  others                    5  100 %
    denied  client
         5  192.0.2.1
    denied  path
         5  /\x1b[31m<script>
         5  2026-11-29 07:00
status 0
00 tags of the log
Note: cut.gz ends in the middle of the compressed data.
tokenbucket: --guard has no limit
Try: tokenbucket help
status 2
tokenbucket: none cannot be read
Try: tokenbucket help
status 2
tokenbucket: the folder is a folder
Try: tokenbucket help
status 2
tokenbucket: binary is no text
Try: tokenbucket help
status 2
tokenbucket: the log is empty
Try: tokenbucket help
status 2
tokenbucket: the format of the log is unknown, or its clients are no addresses: pass --format with the text of log_format (nginx) or LogFormat (Apache). A line is: a
Try: tokenbucket help
status 2
tokenbucket: --format must be combined, common, json, or the text of log_format (nginx) or LogFormat (Apache)
Try: tokenbucket help
status 2
tokenbucket: --format lacks an instant
Try: tokenbucket help
status 2
tokenbucket: --format has a time that is not supported: %{%d}t; use %t, %{sec}t, %{msec}t or %{usec}t
Try: tokenbucket help
status 2
tokenbucket: --format must be a text, a name, a text and so on, with a text between two names
status 2
tokenbucket: --hit must be less than 100%
Try: tokenbucket help
status 2
tokenbucket: --group must be a name, "=" and paths such as /search*, without quotes and "$", x given
Try: tokenbucket help
status 2
tokenbucket: --group must be a name, "=" and paths such as /search*, without quotes and "$", x=/a"b given
Try: tokenbucket help
status 2
tokenbucket: --group must be a name, "=" and paths such as /search*, without quotes and "$", x=/$a given
Try: tokenbucket help
status 2
tokenbucket: --group must be a name, "=" and paths such as /search*, without quotes and "$", x=/\x1b\xff given
Try: tokenbucket help
status 2
tokenbucket: --group must be one limit
status 2
tokenbucket: --group has the name x twice
Try: tokenbucket help
status 2
tokenbucket: --cookie must be one limit
status 2
tokenbucket: --mode must be enforce or observe, x given
Try: tokenbucket help
status 2
tokenbucket: no/where cannot be written
Try: tokenbucket help
status 2
tokenbucket: /dev/full cannot be written
status 1
tokenbucket: /dev/full cannot be written
status 1
tokenbucket: the format of the log is unknown, or its clients are no addresses: pass --format with the text of log_format (nginx) or LogFormat (Apache)
Try: tokenbucket help
status 2

--TEST--
The command tokenbucket frees and blocks a client of the guard at once, and no other client
--SKIPIF--
<?php require __DIR__ . '/../08_guard/skipif.inc.php'; exec('command -v nginx') === '' && die('skip there is no nginx'); ?>
--FILE--
<?php
require __DIR__ . '/../08_guard/web_servers.inc.php';

const LIMIT = 'on POST /login.php ip 2/day block 1 day';
const INI = ['tokenbucket.guard' => LIMIT . '; ip+path 10/day burst 1000; all 10/day burst 5000; ip concurrent 9', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1'];

$path = segment_path();
$fpm = new Fpm(['www' => ['listen.mode' => '0666']], INI + ['tokenbucket.shm_path' => $path]);
$fpm->script('login', SCRIPT);
$nginx = new Nginx($fpm);

/** Sends a login, and returns its status. */
function login(string $client): int
{
    global $nginx;
    $header = "X-Forwarded-For: $client";
    $context = stream_context_create(['http' => ['method' => 'POST', 'header' => $header, 'ignore_errors' => true, 'timeout' => 60]]);
    file_get_contents("http://127.0.0.1:$nginx->port/login.php", false, $context);
    return (int) explode(' ', $http_response_header[0])[1];
}

/** Runs the command. The settings of the guard are those of php-fpm only. */
function command(string $arguments, array $ini = []): string
{
    global $path;
    $ini += ['tokenbucket.shm_path' => $path];
    $printed = php_run_file(__DIR__ . '/../../bin/tokenbucket', $ini, "$arguments 2>&1; echo \"status $?\"");
    return preg_replace(['/the next token in [\d.]+ s/', '/^status 0\n/m'], ['the next token in N s', ''], $printed);
}

$guard = '--guard=' . escapeshellarg(LIMIT);
$logins = fn (string $client, int $count): string => implode(' ', array_map(fn () => login($client), range(1, $count)));

echo "== two clients are blocked\n", $logins('203.0.113.1', 3), ', ', $logins('203.0.113.2', 3), "\n";
echo command("peek 203.0.113.1 $guard"), command("peek ::ffff:203.0.113.3 $guard");
echo "== one is freed, the other is not\n", command("reset 203.0.113.1 $guard"), $logins('203.0.113.1', 3), ', ', $logins('203.0.113.2', 1), "\n";
echo "== a network of IPv6, as its record names it\n", $logins('2001:db8:1:2::3', 3), "\n";
echo command("reset 2001:db8:1:2::/64 $guard"), $logins('2001:db8:1:2::4', 1), "\n";
echo "== NAT64\n", $logins('64:ff9b::8.8.8.8', 3), "\n", command("reset 8.8.8.8 $guard"), $logins('64:ff9b::8.8.8.8', 1), "\n";
echo "== an operator blocks a client with tokens\n", command("block 203.0.113.4 900 $guard"), $logins('203.0.113.4', 2), "\n";
// The denials do not prolong the operator's block to the day that the limit states.
preg_match('/"retryAfter":([\d.]+)/', command("peek 203.0.113.4 --json $guard"), $after);
echo $after[1] <= 900 ? "for no longer than that\n" : "for $after[1] s\n";
echo command("block 203.0.113.4 1 $guard"), command("reset 203.0.113.4 $guard"), $logins('203.0.113.4', 1), "\n";

echo "== limits with other keys\n";
$path_of = '--guard=' . escapeshellarg('ip+path 10/day burst 1000');
echo command("peek 203.0.113.2 /.//login.php/ $path_of"), command("reset 203.0.113.2 /login.php $path_of");
echo command("peek --guard='all 10/day burst 5000'"), command("block 60 --guard='all 10/day burst 5000'"), login('203.0.113.9'), "\n", command("reset --guard='all 10/day burst 5000'"), login('203.0.113.9'), "\n";

echo "== list has the limits, whose names may be passed back\n";
preg_match('/\d+ granted +\d+ denied  shared_memory (guard: on POST .*)/', command('list'), $row);
echo "$row[1]\n", command('peek 203.0.113.2 --guard=' . escapeshellarg($row[1]));

echo "== wrong commands\n";
foreach ([
    'peek 203.0.113.1 --guard=', "peek 203.0.113.1 --guard='ip 2/week'", "peek 203.0.113.1 --guard='ip 3/day'", "peek 203.0.113.1 --guard='ip 2/day; all 3/day'",
    "peek 203.0.113.1 --guard='preflights: ip 2/day'", "peek 203.0.113.1 --guard='ip concurrent 9'", "peek $guard", "peek 203.0.113 $guard", "peek 203.0.113.1 /login.php $guard",
    "peek 203.0.113.1 $path_of", "peek x --guard='all 10/day burst 5000'", "block 203.0.113.1 $guard", "block $guard", "peek 203.0.113.1 $guard --capacity=5",
    'peek 203.0.113.1 --guard=' . escapeshellarg("ip \e[31m\n"),
] as $arguments) {
    echo command($arguments);
}
echo 'private memory: ', command("reset 203.0.113.2 $guard", ['tokenbucket.shm_path' => '']);
echo 'a proxy: ', command("block 10.0.0.1 60 $guard", ['tokenbucket.guard_trusted_proxies' => '10.0.0.0/8']);
echo 'an allowed client: ', command("block 10.0.0.1 60 $guard", ['tokenbucket.guard_allow' => '10.0.0.0/8']);
echo 'TOKENBUCKET_REDIS: ';
putenv('TOKENBUCKET_REDIS=redis://127.0.0.1:1');
echo command("peek 203.0.113.2 $guard");
?>
--EXPECT--
== two clients are blocked
200 200 429, 200 200 429
203.0.113.1: 0 of 2 tokens, the next token in N s
203.0.113.3: 2 of 2 tokens
== one is freed, the other is not
203.0.113.1: 2 of 2 tokens
200 200 429, 429
== a network of IPv6, as its record names it
200 200 429
2001:db8:1:2::/64: 2 of 2 tokens
200
== NAT64
200 200 429
8.8.8.8: 2 of 2 tokens
200
== an operator blocks a client with tokens
203.0.113.4: 0 of 2 tokens, the next token in N s
429 429
for no longer than that
203.0.113.4: 0 of 2 tokens, the next token in N s
203.0.113.4: 2 of 2 tokens
200
== limits with other keys
203.0.113.2: 998 of 1000 tokens
203.0.113.2: 1000 of 1000 tokens
all 10/day burst 5000: 4987 of 5000 tokens
all 10/day burst 5000: 0 of 5000 tokens, the next token in N s
429
all 10/day burst 5000: 5000 of 5000 tokens
200
== list has the limits, whose names may be passed back
guard: on POST /login.php ip 2/day burst 2 block 1 day
203.0.113.2: 0 of 2 tokens, the next token in N s
== wrong commands
tokenbucket: --guard must be one limit
status 2
tokenbucket: --guard must have second, minute, hour or day at position 6, "week" given
status 2
tokenbucket: --guard must be a limit that the guard has used, "guard: ip 3/day burst 3" given
status 2
tokenbucket: --guard must be one limit
status 2
tokenbucket: --guard must have a key: ip, net, host, path, header:Name or all at position 1, "preflights: ip 2/day" given
status 2
tokenbucket: --guard must not have "concurrent", because its permits end with their requests
status 2
tokenbucket: CLIENT must have a value for each key of the limit in its order, 1 in all
status 2
tokenbucket: CLIENT must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip"
status 2
tokenbucket: CLIENT must have a value for each key of the limit in its order, 1 in all
status 2
tokenbucket: CLIENT must have a value for each key of the limit in its order, 2 in all
status 2
tokenbucket: CLIENT must be empty, because all clients share the bucket
status 2
tokenbucket: SECONDS must be a number greater than 0, 203.0.113.1 given
Try: tokenbucket help
status 2
tokenbucket: wrong number of arguments for block
Try: tokenbucket help
status 2
tokenbucket: peek with --guard has no option --capacity
Try: tokenbucket help
status 2
tokenbucket: --guard must have a whole number from 1 to 1000000000, or "concurrent" at position 4, "\x5cx1b[31m\x5cn" given
status 2
private memory: tokenbucket: tokenbucket.shm_path is not set, so this process does not share the buckets of the site
status 1
a proxy: tokenbucket: tokenbucket.guard_trusted_proxies has this client, so it is not blocked
status 1
an allowed client: tokenbucket: tokenbucket.guard_allow has this client, so it is not blocked
status 1
TOKENBUCKET_REDIS: 203.0.113.2: 0 of 2 tokens, the next token in N s

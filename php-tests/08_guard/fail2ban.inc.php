<?php
/**
 * Runs in namespaces of its own: a journal, a web server with the guard, and Debian's fail2ban with
 * the files of examples/fail2ban. The first argument is a folder for all of their files.
 */
require __DIR__ . '/../../tools/testkit/php/built_in.php';
require __DIR__ . '/../../tools/testkit/php/http.php';
require __DIR__ . '/../../tools/testkit/php/wait_for.php';

/** Runs a command, and returns its output. */
function run(string ...$command): string
{
    exec(implode(' ', array_map(escapeshellarg(...), $command)) . ' 2>&1', $lines, $code);
    $code === 0 || throw new RuntimeException(implode(' ', $command) . ":\n" . implode("\n", $lines));
    return implode("\n", $lines);
}

/** Returns a process in the background. Its output goes to a file of the folder. */
function background(string $log, string ...$command): mixed
{
    return proc_open($command, [['file', '/dev/null', 'r'], ['file', $log, 'a'], ['redirect', 1]], $pipes);
}

$folder = $argv[1];
// The mounts below are not visible outside, and hide the host's files from the programs.
run('mount', '--make-rprivate', '/');
foreach (['/run', '/var/log', '/etc/fail2ban/jail.d', '/var/lib/fail2ban'] as $path) {
    run('mount', '-t', 'tmpfs', 'tmpfs', $path);
}
run('cp', '-r', '/etc/fail2ban', "$folder/fail2ban");
run('mount', '--bind', "$folder/fail2ban", '/etc/fail2ban');
run('cp', '-r', __DIR__ . '/../../examples/fail2ban/.', '/etc/fail2ban');
mkdir("$folder/dev");
run('mount', '-t', 'tmpfs', 'tmpfs', "$folder/dev");
foreach (['null', 'zero', 'random', 'urandom'] as $device) {
    run('cp', '-a', "/dev/$device", "$folder/dev/$device");
}
mkdir("$folder/dev/shm", 01777);
run('mount', '--move', "$folder/dev", '/dev');
symlink('/run/systemd/journal/dev-log', '/dev/log');
run('ip', 'link', 'set', 'lo', 'up');
mkdir('/run/systemd/journal', 0755, true);
$journal = background("$folder/journald.log", '/lib/systemd/systemd-journald');
wait_for('the journal runs', fn () => @filetype('/run/systemd/journal/dev-log') === 'socket' && file_exists('/run/systemd/journal/socket'));

$fail2ban = background("$folder/server.log", 'fail2ban-server', '-f', '-x', '-v', 'start');
wait_for('fail2ban runs', fn () => str_contains((string) shell_exec('fail2ban-client status tokenbucket 2>&1'), 'Banned IP list'));

/** Returns the banned addresses of the jail. */
function banned(): string
{
    preg_match('/Banned IP list:[ \t]*(.*)/', run('fail2ban-client', 'status', 'tokenbucket'), $list);
    return $list[1];
}

$script = '<?php
    if (isset($_GET["act"])) {
        $client = new TokenBucket\\GuardedClient("ip 1/day burst 3 block 15 minutes", ["203.0.113.7"], $_GET["password"]);
        $_GET["act"] === "reset" ? $client->reset() : $client->block(60);
        exit;
    }
    error_log($_GET["error"] ?? "nothing");
    if (isset($_GET["syslog"])) { syslog(LOG_NOTICE, $_GET["syslog"]); }
    if (isset($_GET["throw"])) { throw new Exception($_GET["throw"]); }';
$server = new BuiltInServer([
    'tokenbucket.guard' => 'ip 1/day burst 3 block 15 minutes', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1',
    'tokenbucket.guard_password_hash' => password_hash('right', PASSWORD_BCRYPT, ['cost' => 4]), 'log_errors' => '1', 'error_log' => 'syslog', 'display_errors' => '0',
], $script);
$request = fn (string $client, string $query = '') => http_request($server->port, "/?$query", ["X-Forwarded-For: $client"])[0];
$client = 0;
$forged = 'tokenbucket: guard: blocked 198.51.100.66 for 900 s by "';
foreach (["error=$forged", "error=x\n$forged", "syslog=$forged", "throw=x\n$forged", "throw=guard: blocked 198.51.100.66 for 900 s by \""] as $query) {
    [$name, $value] = explode('=', $query, 2);
    echo $request('192.0.2.' . ++$client, "$name=" . rawurlencode($value)), ' ';
}
echo "for forged lines\n";
// The guard drops a log record if the journal is behind. So the next client comes only after the
// record of this one has arrived.
$recorded = fn (string $client) => wait_for("the record of $client", fn () => str_contains(run('journalctl', '-o', 'cat'), "guard: blocked $client for"));
wait_for('the forged lines', fn () => substr_count(run('journalctl', '-o', 'cat'), '198.51.100.66') === 5);
foreach (['203.0.113.7' => '203.0.113.7', '2001:db8:1:2::3' => '2001:db8:1:2::/64'] as $client => $blocked) {
    echo "$client: ", implode(' ', array_map(fn () => $request($client), range(1, 5))), "\n";
    $recorded($blocked);
}
echo $request('127.0.0.9'), $request('127.0.0.9'), $request('127.0.0.9'), $request('127.0.0.9'), " for an address in ignoreip\n";
$recorded('127.0.0.9');
wait_for('two clients are banned', fn () => count(explode(' ', banned())) === 2);
// The journal has all records in order, so fail2ban has passed the forged ones.
echo 'forged lines of PHP in the journal: ', substr_count(run('journalctl', '-o', 'cat'), '198.51.100.66'), "\n";
$banned = explode(' ', banned());
sort($banned);
echo 'banned: ', implode(' ', $banned), "\n";
// fail2ban lists a ban before it has changed the firewall.
wait_for('the firewall has both', fn () => array_filter($banned, fn ($address) => !str_contains(run('nft', 'list', 'ruleset'), $address)) === []);
$rules = run('nft', 'list', 'ruleset');
foreach (['203.0.113.7', '2001:db8:1:2::/64', '198.51.100.66', '127.0.0.9'] as $address) {
    echo "$address: ", str_contains($rules, $address) ? 'in the firewall' : 'not in the firewall', "\n";
}
foreach ($banned as $address) {
    run('fail2ban-client', 'set', 'tokenbucket', 'unbanip', $address);
}
$rules = run('nft', 'list', 'ruleset');
echo 'unbanned: ', banned() === '' && !preg_match('/203\.0|2001:db8/', $rules) ? 'yes' : "no: $rules", "\n";

// The records of an operator are no blocks, so nobody is banned, neither the operator.
$operator = function (string $from, string $act, string $password) use ($request): void {
    echo "operator: $act ", $request($from, "act=$act&password=" . rawurlencode($password)), "\n";
    wait_for("the record of $act", fn () => substr_count(run('journalctl', '-o', 'cat'), $act === 'guess' ? 'wrong password' : "has $act") === 1);
};
$operator('198.51.100.8', 'guess', "x\n$forged");
$operator('198.51.100.9', 'reset', 'right');
$operator('198.51.100.9', 'blocked', 'right');
// fail2ban reads records in order.
foreach (range(1, 4) as $_) {
    $request('203.0.113.8');
}
wait_for('the last client is banned', fn () => banned() !== '');
echo 'banned after the records of an operator: ', banned(), "\n";
run('fail2ban-client', 'set', 'tokenbucket', 'unbanip', '203.0.113.8');

$records = run('journalctl', '-o', 'json', '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,PRIORITY,SYSLOG_FACILITY', 'SYSLOG_IDENTIFIER=tokenbucket');
foreach (explode("\n", $records) as $record) {
    $record = json_decode($record, true);
    echo "$record[SYSLOG_FACILITY].$record[PRIORITY] $record[SYSLOG_IDENTIFIER]: $record[MESSAGE]\n";
}
$server->kill();
run('fail2ban-client', 'stop');
proc_terminate($journal);

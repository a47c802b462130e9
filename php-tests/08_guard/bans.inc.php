<?php
/**
 * Tests a tool that bans clients by records of the journal. It runs in namespaces of its own,
 * with a journal, a firewall, and a web server whose guard writes the records.
 */
require_once __DIR__ . '/../../tools/testkit/php/built_in.php';
require_once __DIR__ . '/../../tools/testkit/php/http.php';
require_once __DIR__ . '/../../tools/testkit/php/wait_for.php';

/** Addresses to ban. The last two are one client, whose whole /64 is banned. */
const BANNED = ['203.0.113.7', '2001:db8:1:2::3', '2001:db8:1:2:ffff::'];
const CLIENTS = [...BANNED, '203.0.113.8', '198.51.100.66', '2001:db8:1:3::3', '127.0.0.9'];

/** Returns why namespaces with these programs cannot be made here, or null. */
function missing_for_namespaces(string ...$programs): ?string
{
    foreach (['journalctl', 'unshare', '/lib/systemd/systemd-journald', ...$programs] as $program) {
        if (exec('command -v ' . escapeshellarg($program)) === '') {
            return "there is no $program";
        }
    }
    exec('unshare --mount --net --pid --fork true 2>&1', $output, $code);
    return $code === 0 ? null : 'namespaces cannot be made here';
}

/** Runs a script in namespaces with a folder for its files. Prints their logs after an error. */
function in_namespaces(string $script): void
{
    // A folder of /dev/shm would be hidden, because the test has a /dev of its own.
    $folder = sys_get_temp_dir() . '/tokenbucket-' . basename($script, '.inc.php') . '-' . getmypid();
    mkdir($folder);
    $inner = php_command() . ' ' . escapeshellarg($script) . ' ' . escapeshellarg($folder);
    passthru("unshare --mount --net --pid --fork --kill-child --mount-proc $inner 2>&1", $code);
    echo $code === 0 ? '' : "exit $code\n" . implode(array_map(file_get_contents(...), glob("$folder/*.log")));
    shell_exec('rm -rf ' . escapeshellarg($folder));
}

/** Runs a command, and returns its output. */
function run(string ...$command): string
{
    exec(implode(' ', array_map(escapeshellarg(...), $command)) . ' 2>&1', $lines, $code);
    $code === 0 || throw new RuntimeException(implode(' ', $command) . ":\n" . implode("\n", $lines));
    return implode("\n", $lines);
}

/** Returns a process in the background. Its output goes to a file. */
function background(string $log, string ...$command): mixed
{
    return proc_open($command, [['file', '/dev/null', 'r'], ['file', $log, 'a'], ['redirect', 1]], $pipes);
}

/** Hides these folders and /dev of the host, and returns a journal that runs. */
function start_journal(string $folder, string ...$hidden): mixed
{
    // The mounts below are not visible outside, and hide the host's files from the programs.
    run('mount', '--make-rprivate', '/');
    foreach (['/run', '/var/log', ...$hidden] as $path) {
        run('mount', '-t', 'tmpfs', 'tmpfs', $path);
    }
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
    return $journal;
}

/**
 * Gives this host the addresses of the clients, and listens.
 *
 * @return array{resource, resource} for IPv4 and IPv6
 */
function start_listening(): array
{
    foreach (CLIENTS as $client) {
        run('ip', 'address', 'add', $client, 'dev', 'lo', ...(str_contains($client, ':') ? ['nodad'] : []));
    }
    return array_map(stream_socket_server(...), ['tcp://127.0.0.1:0', 'tcp://[::1]:0']);
}

/** Returns how many clients to ban are in the firewall. */
function count_in_firewall(): int
{
    return preg_match_all('/203\.0\.113\.7|2001:db8:1:2::/', run('nft', 'list', 'ruleset'));
}

/** Returns the addresses that cannot connect. $banned get a short timeout for dropped packets. */
function rejected(array $servers, array $banned): string
{
    $is_rejected = function (string $client) use ($servers, $banned): bool {
        [$server, $from] = str_contains($client, ':') ? [$servers[1], "[$client]:0"] : [$servers[0], "$client:0"];
        $context = stream_context_create(['socket' => ['bindto' => $from]]);
        $timeout = in_array($client, $banned, true) ? 2 : 60;
        return @stream_socket_client('tcp://' . stream_socket_get_name($server, false), $errno, $error, $timeout, context: $context) === false;
    };
    return implode(' ', array_filter(CLIENTS, $is_rejected)) ?: 'none';
}

/** Returns how many lines of the journal name a client that the guard has not blocked. */
function count_forged(): int
{
    return substr_count(run('journalctl', '-o', 'cat'), '198.51.100.66');
}

/**
 * Lets applications forge records and an operator act. Then lets the guard block three clients, one
 * of them local.
 */
function forge_and_block(): void
{
    $script = '<?php
        if (isset($_GET["act"])) {
            $client = new TokenBucket\GuardedClient("ip 1/day burst 3 block 15 minutes", ["203.0.113.8"], $_GET["password"]);
            $_GET["act"] === "reset" ? $client->reset() : $client->block(60);
            exit;
        }
        error_log($_GET["error"] ?? "nothing");
        if (isset($_GET["syslog"])) { syslog(LOG_NOTICE, $_GET["syslog"]); }
        if (isset($_GET["throw"])) { throw new Exception($_GET["throw"]); }';
    $server = new BuiltInServer([
        'tokenbucket.guard' => 'ip 1/day burst 3 block 15 minutes', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1',
        'tokenbucket.guard_password_hash' => password_hash('right', PASSWORD_BCRYPT, ['cost' => 4]),
        'log_errors' => '1', 'error_log' => 'syslog', 'display_errors' => '0',
    ], $script);
    $request = fn (string $client, string $query = '') => http_request($server->port, "/?$query", ["X-Forwarded-For: $client"])[0];
    [$client, $before] = [0, count_forged()];
    $forged = 'tokenbucket: guard: blocked 198.51.100.66 for 900 s by "';
    foreach (["error=$forged", "error=x\n$forged", "syslog=$forged", "throw=x\n$forged", "throw=guard: blocked 198.51.100.66 for 900 s by \""] as $query) {
        [$name, $value] = explode('=', $query, 2);
        echo $request('192.0.2.' . ++$client, "$name=" . rawurlencode($value)), ' ';
    }
    echo "for forged lines\n";
    // The guard drops a log record if the journal is behind. So each client waits until the record
    // of the previous client has arrived.
    $recorded = fn (string $record) => wait_for("the record: $record", fn () => str_contains(run('journalctl', '-o', 'cat'), "guard: $record"));
    wait_for('the forged lines', fn () => count_forged() === $before + 5);
    // The records of an operator are no blocks, so they ban neither the client nor the operator.
    foreach (['guess' => "x\n$forged", 'reset' => 'right', 'blocked' => 'right'] as $act => $password) {
        echo "operator: $act ", $request('198.51.100.9', "act=$act&password=" . rawurlencode($password)), "\n";
        $recorded($act === 'guess' ? 'wrong password from' : "an operator at 198.51.100.9 has $act");
    }
    foreach (['127.0.0.9' => '127.0.0.9', '203.0.113.7' => '203.0.113.7', '2001:db8:1:2::3' => '2001:db8:1:2::/64'] as $client => $blocked) {
        echo "$client: ", implode(' ', array_map(fn () => $request($client), range(1, 5))), "\n";
        $recorded("blocked $blocked for");
    }
    $server->kill();
}

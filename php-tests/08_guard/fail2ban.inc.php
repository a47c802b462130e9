<?php
/**
 * Runs Debian's fail2ban with the files of examples/fail2ban, in namespaces of its own. The first
 * argument is a folder for all files.
 */
require __DIR__ . '/journal.inc.php';

$folder = $argv[1];
$journal = start_journal($folder, '/etc/fail2ban/jail.d', '/var/lib/fail2ban');
run('cp', '-r', '/etc/fail2ban', "$folder/fail2ban");
run('mount', '--bind', "$folder/fail2ban", '/etc/fail2ban');
run('cp', '-r', __DIR__ . '/../../examples/fail2ban/.', '/etc/fail2ban');

$fail2ban = background("$folder/server.log", 'fail2ban-server', '-f', '-x', '-v', 'start');
wait_for('fail2ban runs', fn () => str_contains((string) shell_exec('fail2ban-client status tokenbucket 2>&1'), 'Banned IP list'));

/** Returns the banned addresses of the jail. */
function banned(): string
{
    preg_match('/Banned IP list:[ \t]*(.*)/', run('fail2ban-client', 'status', 'tokenbucket'), $list);
    return $list[1];
}

const CLIENTS = ['203.0.113.7', '203.0.113.8', '198.51.100.66', '2001:db8:1:2::3', '2001:db8:1:2:ffff::', '2001:db8:1:3::3', '127.0.0.9'];
foreach (CLIENTS as $client) {
    run('ip', 'address', 'add', $client, 'dev', 'lo', ...(str_contains($client, ':') ? ['nodad'] : []));
}
$servers = ['IPv4' => stream_socket_server('tcp://127.0.0.1:0'), 'IPv6' => stream_socket_server('tcp://[::1]:0')];

/** Returns the addresses from which no connection can be made. */
function refused(array $servers): string
{
    $is_refused = function (string $client) use ($servers): bool {
        [$server, $from] = str_contains($client, ':') ? [$servers['IPv6'], "[$client]:0"] : [$servers['IPv4'], "$client:0"];
        $context = stream_context_create(['socket' => ['bindto' => $from]]);
        return @stream_socket_client('tcp://' . stream_socket_get_name($server, false), $errno, $error, 60, context: $context) === false;
    };
    return implode(' ', array_filter(CLIENTS, $is_refused)) ?: 'none';
}

echo 'refused at first: ', refused($servers), "\n";
forge_and_block();
wait_for('two clients are banned', fn () => count(explode(' ', banned())) === 2);
// The journal has all records in order, so fail2ban has passed the forged ones.
echo 'forged lines of PHP in the journal: ', substr_count(run('journalctl', '-o', 'cat'), '198.51.100.66'), "\n";
$banned = explode(' ', banned());
sort($banned);
echo 'banned: ', implode(' ', $banned), "\n";
echo 'refused by the firewall: ', refused($servers), "\n";
foreach ($banned as $address) {
    run('fail2ban-client', 'set', 'tokenbucket', 'unbanip', $address);
}
echo 'refused at last: ', refused($servers), ', banned: ', banned() ?: 'none', "\n";
$records = run('journalctl', '-o', 'json', '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,PRIORITY,SYSLOG_FACILITY', 'SYSLOG_IDENTIFIER=tokenbucket');
foreach (explode("\n", $records) as $record) {
    $record = json_decode($record, true);
    echo "$record[SYSLOG_FACILITY].$record[PRIORITY] $record[SYSLOG_IDENTIFIER]: $record[MESSAGE]\n";
}
run('fail2ban-client', 'stop');
proc_terminate($journal);

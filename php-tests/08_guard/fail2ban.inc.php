<?php
/**
 * Runs Debian's fail2ban with the files of examples/fail2ban, in namespaces of its own. The first
 * argument is a folder for all files.
 */
require __DIR__ . '/bans.inc.php';

$folder = $argv[1];
$journal = start_journal($folder, '/var/lib/fail2ban');
run('cp', '-r', '/etc/fail2ban', "$folder/fail2ban");
run('mount', '--bind', "$folder/fail2ban", '/etc/fail2ban');
// As after the installation, also with Debian's own jail of sshd, whose log is missing.
preg_match('~^sudo cp -r (examples/fail2ban/\.) (\S+)\n(printf .*) \| sudo tee (\S+)$~m', file_get_contents(__DIR__ . '/../../docs/how-to/free-a-client.md'), $page);
run('cp', '-r', __DIR__ . "/../../$page[1]", $page[2]);
run('sh', '-c', "$page[3] >$page[4]");
// Only records of the web server's user ban.
$trusted = '_UID=' . run('id', '-u', 'nobody');
run('sed', '-i', "s/SYSLOG_IDENTIFIER=tokenbucket/& $trusted/", '/etc/fail2ban/filter.d/tokenbucket.conf');

$fail2ban = background("$folder/server.log", 'fail2ban-server', '-f', '-x', '-v', 'start');
wait_for('fail2ban runs', fn () => str_contains((string) shell_exec('fail2ban-client status tokenbucket 2>&1'), 'Banned IP list'));

/** Returns the banned addresses of the jail. */
function banned(): string
{
    preg_match('/Banned IP list:[ \t]*(.*)/', run('fail2ban-client', 'status', 'tokenbucket'), $list);
    return $list[1];
}

$servers = start_listening();
echo 'rejected at first: ', rejected($servers, []), "\n";
// An application of another user forges records without openlog().
$record = 'guard: blocked 198.51.100.66 for 900 s by "x"';
$code = "fwrite(stream_socket_client('udg:///dev/log'), '<85>tokenbucket: $record');
    exec('logger -p authpriv.notice -t tokenbucket ' . escapeshellarg('$record'));";
run('setpriv', '--reuid=daemon', '--clear-groups', PHP_BINARY, '-n', '-d', 'disable_functions=openlog', '-r', $code);
wait_for('the forged records', fn () => count_forged() === 2);
forge_and_block();
wait_for('two clients are banned', fn () => count(explode(' ', banned())) === 2);
// fail2ban lists a ban before it has changed the firewall.
wait_for('the firewall has both', fn () => count_in_firewall() === 2);
// The journal has all records in order, so fail2ban has passed the forged ones.
echo 'forged lines in the journal: ', count_forged(), "\n";
$banned = explode(' ', banned());
sort($banned);
echo 'banned: ', implode(' ', $banned), "\n";
echo 'rejected: ', rejected($servers, BANNED), "\n";
preg_match_all('/l4proto \{ (.*?) \} (ip6?) saddr .* reject/', run('nft', 'list', 'ruleset'), $rules);
echo 'protocols: ', implode(', ', array_map(fn (string $protocols, string $of) => "$protocols of $of", $rules[1], $rules[2])), "\n";
run('nft', 'flush', 'ruleset');
echo 'rejected after a flush of the rules: ', rejected($servers, []);
run('fail2ban-client', 'reload', '--restart', 'tokenbucket');
wait_for('both are banned again', fn () => count_in_firewall() === 2);
echo ', after a restart of the jail: ', rejected($servers, BANNED), "\n";
foreach ($banned as $address) {
    run('fail2ban-client', 'set', 'tokenbucket', 'unbanip', $address);
}
wait_for('both are out of the firewall', fn () => count_in_firewall() === 0);
echo 'rejected at last: ', rejected($servers, []), ', banned: ', banned() ?: 'none', "\n";
$records = run('journalctl', '-o', 'json', '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,PRIORITY,SYSLOG_FACILITY', 'SYSLOG_IDENTIFIER=tokenbucket', $trusted);
foreach (explode("\n", $records) as $record) {
    $record = json_decode($record, true);
    echo "$record[SYSLOG_FACILITY].$record[PRIORITY] $record[SYSLOG_IDENTIFIER]: $record[MESSAGE]\n";
}
run('fail2ban-client', 'stop');
proc_terminate($journal);

<?php
/**
 * Runs Debian's CrowdSec with the files of examples/crowdsec, in namespaces of its own. The first
 * argument is a folder for all files.
 */
require __DIR__ . '/bans.inc.php';

/** A client that is banned before the test. */
const PROBE = '192.0.2.99';
const EXAMPLES = __DIR__ . '/../../examples/crowdsec';

$folder = $argv[1];
$root = getenv('CROWDSEC') ?: __DIR__ . '/../../target/crowdsec';
$journal = start_journal($folder);
$home = "$folder/crowdsec";
mkdir($home);
run('cp', '-r', ...glob("$root/etc/crowdsec/{patterns,simulation.yaml}", GLOB_BRACE), ...[...glob(EXAMPLES . '/*'), $home]);
array_map(fn (string $name) => mkdir("$home/$name"), ['data', 'notifications', 'parsers/s00-raw', 'plugins']);
file_put_contents("$home/profiles.yaml", "---\n" . file_get_contents("$root/etc/crowdsec/profiles.yaml"), FILE_APPEND);
copy("$root/usr/share/crowdsec/hub/parsers/s00-raw/crowdsecurity/syslog-logs.yaml", "$home/parsers/s00-raw/syslog-logs.yaml");
file_put_contents("$home/config.yaml", <<<YAML
    common: { daemonize: false, log_media: stdout, log_level: info, working_dir: $home }
    config_paths:
      config_dir: $home/
      data_dir: $home/data/
      simulation_path: $home/simulation.yaml
      hub_dir: $root/usr/share/crowdsec/hub/
      index_path: $root/usr/share/crowdsec/hub/.index.json
      notification_dir: $home/notifications/
      plugin_dir: $home/plugins/
    crowdsec_service: { acquisition_dir: $home/acquis.d, parser_routines: 1 }
    db_config: { log_level: info, type: sqlite, db_path: $home/data/crowdsec.db, use_wal: false }
    api:
      client: { credentials_path: $home/credentials.yaml }
      server: { log_level: info, listen_uri: '127.0.0.1:8080', profiles_path: $home/profiles.yaml, console_path: $home/console.yaml }
    prometheus: { enabled: false }
    YAML);
run('chown', '-R', 'nobody', $home);
// CrowdSec may read the journal as a member of this group.
run('chgrp', '-R', 'systemd-journal', '/run/log/journal');
$as_nobody = ['setpriv', '--reuid=nobody', '--regid=systemd-journal', '--clear-groups'];
$cscli = fn (string ...$arguments) => run(...[...$as_nobody, "$root/usr/bin/cscli", '-c', "$home/config.yaml", ...$arguments]);
$cscli('machines', 'add', 'test', '--password', bin2hex(random_bytes(16)), '-f', "$home/credentials.yaml");
$crowdsec = background("$folder/crowdsec.log", ...[...$as_nobody, "$root/usr/bin/crowdsec", '-c', "$home/config.yaml"]);

/** Returns the decisions, in order. */
$decisions = function () use ($cscli): array {
    $alerts = json_decode($cscli('decisions', 'list', '-o', 'json', '--error'), true) ?? [];
    $decisions = array_filter(array_merge(...array_column($alerts, 'decisions')), fn (array $decision) => $decision['value'] !== PROBE);
    array_multisort(array_column($decisions, 'value'), $decisions);
    return $decisions;
};
wait_for('CrowdSec replies', fn () => str_contains(file_get_contents("$folder/crowdsec.log"), 'Starting processing data'));
// CrowdSec only reads records that are written after it has opened the journal.
openlog('tokenbucket', 0, LOG_AUTHPRIV);
wait_for('CrowdSec reads the journal', function () use ($cscli): bool {
    syslog(LOG_NOTICE, 'guard: blocked ' . PROBE . ' for 900 s by "ip 1/day"');
    return str_contains($cscli('decisions', 'list', '-o', 'json'), PROBE);
});
preg_match('/^ *(\w{20,})/m', $cscli('bouncers', 'add', 'test', '-o', 'raw'), $key);
// The bouncer has Debian's settings, but asks for decisions once a second, stays in the foreground
// and writes to its output.
$settings = file_get_contents("$root/etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml");
file_put_contents("$folder/bouncer.yaml", strtr($settings, [
    '${BACKEND}' => 'nftables', '${API_KEY}' => $key[1], 'frequency: 10s' => 'frequency: 1s', 'daemonize: true' => 'daemonize: false',
    'log_mode: file' => 'log_mode: stdout',
]));
$bouncer = background("$folder/bouncer.log", "$root/usr/bin/crowdsec-firewall-bouncer", '-c', "$folder/bouncer.yaml");
$servers = start_listening();
echo 'rejected at first: ', rejected($servers, []), "\n";
forge_and_block();
// CrowdSec reads the records in order. When it has banned two clients, it has passed the forged
// records.
wait_for('two clients are banned', fn () => count($decisions()) >= 2);
foreach ($decisions() as ['scope' => $scope, 'value' => $value, 'scenario' => $scenario, 'type' => $type, 'duration' => $duration]) {
    // The ban lasts 15 minutes, of which even a busy machine has used at most five.
    $minutes = preg_match('/^1[0-5]m/', $duration) && $type === 'ban' ? '15 minutes' : "$type $duration";
    echo "$minutes for the $scope $value by $scenario\n";
}
wait_for('both are in the firewall', fn () => count_in_firewall() === 2);
// With nftables, Debian's bouncer bans only the first address of a network.
echo 'rejected: ', rejected($servers, ['203.0.113.7']), "\n";
$cscli('decisions', 'delete', '--ip', '203.0.113.7');
$cscli('decisions', 'delete', '--range', '2001:db8:1:2::/64');
wait_for('both are out of the firewall', fn () => count_in_firewall() === 0);
echo 'rejected at last: ', rejected($servers, []), ', decisions: ', count($decisions()), "\n";
proc_terminate($bouncer);
proc_terminate($crowdsec);
proc_terminate($journal);

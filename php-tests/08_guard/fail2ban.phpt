--TEST--
The guard: fail2ban bans and unbans blocked clients by records of the journal, and no forged line bans
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
foreach (['fail2ban-server', 'nft', 'journalctl', 'unshare', '/lib/systemd/systemd-journald'] as $program) {
    exec("command -v $program") === '' && die("skip there is no $program");
}
exec('unshare --mount --net --pid --fork true 2>&1', $output, $code);
$code === 0 || die('skip namespaces cannot be made here');
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

// A folder of /dev/shm would be hidden, because the test has a /dev of its own.
$folder = sys_get_temp_dir() . '/tokenbucket-fail2ban-' . getmypid();
mkdir($folder);
$inner = php_command() . ' ' . escapeshellarg(__DIR__ . '/fail2ban.inc.php') . ' ' . escapeshellarg($folder);
passthru("unshare --mount --net --pid --fork --kill-child --mount-proc $inner 2>&1", $code);
echo $code === 0 ? '' : "exit $code\n" . @file_get_contents("$folder/server.log") . @file_get_contents("$folder/journald.log");
shell_exec('rm -rf ' . escapeshellarg($folder));
?>
--EXPECT--
200 200 200 500 500 for forged lines
203.0.113.7: 200 200 200 429 429
2001:db8:1:2::3: 200 200 200 429 429
200200200429 for an address in ignoreip
forged lines of PHP in the journal: 5
banned: 2001:db8:1:2::/64 203.0.113.7
203.0.113.7: in the firewall
2001:db8:1:2::/64: in the firewall
198.51.100.66: not in the firewall
127.0.0.9: not in the firewall
unbanned: yes
operator: guess 500
operator: reset 200
operator: blocked 200
banned after the records of an operator: 203.0.113.8
10.5 tokenbucket: guard: blocked 203.0.113.7 for 900 s by "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 2001:db8:1:2::/64 for 900 s by "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 127.0.0.9 for 900 s by "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: wrong password from 198.51.100.8
10.5 tokenbucket: guard: an operator at 198.51.100.9 has reset 203.0.113.7 of "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: an operator at 198.51.100.9 has blocked 203.0.113.7 for 60 s of "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 203.0.113.8 for 900 s by "ip 1/day burst 3 block 15 minutes"

--TEST--
The guard: fail2ban bans and unbans blocked clients by records of the journal, and no forged line bans
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/bans.inc.php';
$missing = missing_for_namespaces('fail2ban-server', 'nft');
$missing === null || die("skip $missing");
?>
--FILE--
<?php
require __DIR__ . '/bans.inc.php';

in_namespaces(__DIR__ . '/fail2ban.inc.php');
?>
--EXPECT--
rejected at first: none
200 200 200 500 500 for forged lines
operator: guess 500
operator: reset 200
operator: blocked 200
127.0.0.9: 200 200 200 429 429
203.0.113.7: 200 200 200 429 429
2001:db8:1:2::3: 200 200 200 429 429
forged lines in the journal: 7
banned: 2001:db8:1:2::/64 203.0.113.7
rejected: 203.0.113.7 2001:db8:1:2::3 2001:db8:1:2:ffff::
protocols: tcp, udp of ip, tcp, udp of ip6
rejected after a flush of the rules: none, after a restart of the jail: 203.0.113.7 2001:db8:1:2::3 2001:db8:1:2:ffff::
rejected at last: none, banned: none
10.5 tokenbucket: guard: wrong password from 198.51.100.9
10.5 tokenbucket: guard: an operator at 198.51.100.9 has reset 203.0.113.8 of "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: an operator at 198.51.100.9 has blocked 203.0.113.8 for 60 s of "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 127.0.0.9 for 900 s by "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 203.0.113.7 for 900 s by "ip 1/day burst 3 block 15 minutes"
10.5 tokenbucket: guard: blocked 2001:db8:1:2::/64 for 900 s by "ip 1/day burst 3 block 15 minutes"

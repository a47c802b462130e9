--TEST--
The guard: CrowdSec bans blocked clients by records of the journal, and no forged line bans
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/bans.inc.php';
$missing = missing_for_namespaces('nft', 'setpriv');
$missing === null || die("skip $missing");
$program = (getenv('CROWDSEC') ?: __DIR__ . '/../../target/crowdsec') . '/usr/bin/crowdsec';
exec('setpriv --reuid=nobody --regid=nogroup --clear-groups test -x ' . escapeshellarg($program), $output, $code);
$code === 0 || die('skip the user nobody finds no CrowdSec: run scripts/setup crowdsec');
?>
--FILE--
<?php
require __DIR__ . '/bans.inc.php';

in_namespaces(__DIR__ . '/crowdsec.inc.php');
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
15 minutes for the Range 2001:db8:1:2::/64 by tokenbucket/guard-block-network
15 minutes for the Ip 203.0.113.7 by tokenbucket/guard-block
rejected: 203.0.113.7
rejected at last: none, decisions: 0

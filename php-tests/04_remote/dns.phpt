--TEST--
A DNS server that hangs occupies one worker, and the others use addresses that are known
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--SKIPIF--
<?php
if (fileowner('/proc/self') !== 0) {
    exit('skip only root can bind port 53 and replace the settings of the resolver');
}
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/dns.php';
echo DnsServer::run_file(__DIR__ . "/dns.inc.php") ?? "skipped: the settings of the resolver cannot be replaced\n";
?>
--EXPECT--
unknown: 0 calls decided by the store, one worker at a time
answered: decided by the store
hanging: 160 calls decided by the store, one worker at a time

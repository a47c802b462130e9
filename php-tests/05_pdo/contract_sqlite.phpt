--TEST--
Storage contract: SQLite in every mode of the connection
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/contract.inc.php';

$server = SqliteFile::start();
$own = [];
$settings = ['PRAGMA journal_mode = WAL', 'PRAGMA case_sensitive_like = 1'];
contract_in_all_modes('sqlite', $server, $own, $settings, 'main');
?>
--EXPECT--
sqlite

--TEST--
Storage contract: PostgreSQL in every mode of the connection
--EXTENSIONS--
pdo
pdo_pgsql
--FILE--
<?php
require __DIR__ . '/contract.inc.php';

$server = PostgreSqlServer::start();
// PHP 8.5 deprecates this name. PHP 8.2 has no other name.
$own = ['unprepared' => [@PDO::PGSQL_ATTR_DISABLE_PREPARES => true]];
$settings = [
    "SET TIME ZONE 'Asia/Kolkata'", 'SET client_encoding = LATIN1',
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET DateStyle = 'German'",
];
// PostgreSQL 19 refuses this one.
if ((int) $server->connect()->getAttribute(PDO::ATTR_SERVER_VERSION) < 19) {
    $settings[] = 'SET standard_conforming_strings = off';
}
contract_in_all_modes('pgsql', $server, $own, $settings, 'public');
?>
--EXPECT--
pgsql

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
    "SET TIME ZONE 'Asia/Kolkata'", 'SET standard_conforming_strings = off', 'SET client_encoding = LATIN1',
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET DateStyle = 'German'",
];
contract_in_all_modes('pgsql', $server, $own, $settings, 'public');
?>
--EXPECT--
pgsql

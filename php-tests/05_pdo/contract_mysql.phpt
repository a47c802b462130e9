--TEST--
Storage contract: MySQL in every mode of the connection
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require __DIR__ . '/contract.inc.php';

$server = MariaDbServer::start();
// PHP 8.5 deprecates these names. PHP 8.2 has no other names.
$own = [
    'found rows' => [@PDO::MYSQL_ATTR_FOUND_ROWS => true],
    'found rows, native' => [@PDO::MYSQL_ATTR_FOUND_ROWS => true, PDO::ATTR_EMULATE_PREPARES => false],
    'unbuffered' => [@PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false],
    'unbuffered, native' => [@PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false, PDO::ATTR_EMULATE_PREPARES => false],
];
$settings = [
    "SET sql_mode = ''", "SET sql_mode = 'ANSI,TRADITIONAL'", "SET sql_mode = '" . MariaDbServer::sql_mode() . ",NO_BACKSLASH_ESCAPES'",
    "SET sql_mode = 'ONLY_FULL_GROUP_BY,PIPES_AS_CONCAT,ANSI_QUOTES,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE,"
        . "IGNORE_SPACE,REAL_AS_FLOAT,NO_ZERO_DATE,NO_ZERO_IN_DATE,STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH'",
    "SET time_zone = '+05:30'", 'SET NAMES latin1', 'SET character_set_results = utf32', 'SET character_set_connection = ucs2', "SET autocommit = 0",
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED', 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE',
];
contract_in_all_modes('mysql', $server, $own, $settings, 'test');
$db = $server->connect();
$storage = new TokenBucketStoragePDOMySQL($db, 'limits');
$storage->prepare();
contract('the class for MySQL', $db, $storage);
?>
--EXPECT--
mysql

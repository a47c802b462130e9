--TEST--
The PDO storages exist without the PDO extension and require a PDO object
--SKIPIF--
<?php
if (extension_loaded('pdo')) {
    die('skip PDO is built in');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

foreach (['TokenBucketStoragePDO', 'TokenBucketStoragePDOMySQL'] as $class) {
    echo thrown(fn () => new $class(new stdClass, 'limits')), "\n";
}
class PDO
{
}
echo thrown(fn () => new TokenBucketStoragePDO(new PDO, 'limits')), "\n";
?>
--EXPECT--
TypeError: TokenBucketStoragePDO::__construct(): Argument #1 ($db) must be of type PDO, stdClass given
TypeError: TokenBucketStoragePDOMySQL::__construct(): Argument #1 ($db) must be of type PDO, stdClass given
Error: Call to undefined method getattribute()

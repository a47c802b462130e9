--TEST--
Constructors of PDO storages report the argument that is invalid
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
class Unconnected extends PDO
{
    public function __construct()
    {
    }
}
class Other extends PDO
{
    public function getAttribute(int $attribute): mixed
    {
        return 'oci';
    }
}
class Unmade extends TokenBucketStoragePDO
{
    public function __construct()
    {
    }
}
$db = new PDO('sqlite::memory:');
foreach ([
    fn () => new TokenBucketStoragePDO(),
    fn () => new TokenBucketStoragePDO(null, 't'),
    fn () => new TokenBucketStoragePDO(new stdClass, 't'),
    fn () => new TokenBucketStoragePDO($db, []),
    fn () => new TokenBucketStoragePDO(new Unconnected, 't'),
    fn () => new TokenBucketStoragePDO(new Other('sqlite::memory:'), 't'),
    fn () => new TokenBucketStoragePDO($db, ''),
    fn () => new TokenBucketStoragePDO($db, 'a b'),
    fn () => new TokenBucketStoragePDO($db, 'a"b'),
    fn () => new TokenBucketStoragePDO($db, "a\0"),
    fn () => new TokenBucketStoragePDO($db, 'a.b.c'),
    fn () => new TokenBucketStoragePDO($db, str_repeat('a', 65)),
    fn () => new TokenBucketStoragePDO($db, 't', 'throw'),
    fn () => new TokenBucketStoragePDO($db, 't', denialCacheMaxAge: -1.0),
    fn () => new TokenBucketStoragePDO($db, 't', denialCacheMaxAge: NAN),
    fn () => new TokenBucketStoragePDOMySQL($db, 't'),
    fn () => new TokenBucketStoragePDOMySQL('db', 't'),
    fn () => new TokenBucketStoragePDOMySQL($db),
    fn () => (new TokenBucketStoragePDO($db, 't'))->__construct($db, 't'),
    fn () => (new TokenBucket(new Unmade, 'b', 1, 1))->consume(),
    fn () => (new Unmade)->prepare(),
    fn () => (new Unmade)->purge(1.0),
    fn () => clone new TokenBucketStoragePDO($db, 't'),
    fn () => serialize(new TokenBucketStoragePDO($db, 't')),
] as $call) {
    echo thrown($call), "\n";
}
?>
--EXPECTF--
ArgumentCountError: TokenBucketStoragePDO::__construct() expects at least 2 arguments, 0 given
TypeError: TokenBucketStoragePDO::__construct(): Argument #1 ($db) must be of type PDO, null given
TypeError: TokenBucketStoragePDO::__construct(): Argument #1 ($db) must be of type PDO, stdClass given
TypeError: TokenBucketStoragePDO::__construct(): Argument #2 ($table) must be of type string, array given
Error: %sinitialized%S
ValueError: TokenBucketStoragePDO::__construct(): Argument #1 ($db) must be connected by the driver mysql, pgsql or sqlite
ValueError: TokenBucketStoragePDO::__construct(): Argument #2 ($table) must be the name of a table, or of a schema and a table with a dot between
ValueError: TokenBucketStoragePDO::__construct(): Argument #2 ($table) must contain only letters, digits, "_", "$", "-" and one dot (3 times)
ValueError: TokenBucketStoragePDO::__construct(): Argument #2 ($table) must be the name of a table, or of a schema and a table with a dot between
ValueError: TokenBucketStoragePDO::__construct(): Argument #2 ($table) must not be longer than 64 characters
TypeError: TokenBucketStoragePDO::__construct(): Argument #3 ($onFailure) must be of type TokenBucket\OnFailure, string given
ValueError: TokenBucketStoragePDO::__construct(): Argument #5 ($denialCacheMaxAge) must be greater than or equal to 0
ValueError: TokenBucketStoragePDO::__construct(): Argument #5 ($denialCacheMaxAge) must be finite
ValueError: TokenBucketStoragePDOMySQL::__construct(): Argument #1 ($db) must be connected to MySQL or MariaDB
TypeError: TokenBucketStoragePDOMySQL::__construct(): Argument #1 ($db) must be of type PDO, string given
ArgumentCountError: TokenBucketStoragePDOMySQL::__construct() expects exactly 2 arguments, 1 given
Error: TokenBucketStoragePDO has already been constructed
Error: The TokenBucketStoragePDO object has not been constructed (3 times)
Error: Trying to clone an uncloneable object of class TokenBucketStoragePDO
Exception: Serialization of 'TokenBucketStoragePDO' is not allowed

--TEST--
Buckets and storages: dumps, comparison, and errors on serialising or cloning storages
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Sub extends TokenBucket
{
    public $extra = 1;
}
$memory = new TokenBucketStorageMemory;
$shared = new TokenBucketStorageSharedMemory('shop');
$bucket = new TokenBucket($memory, 'x', 10, 2.5);
echo "-- dumps --\n";
var_dump($bucket);
print_r(new Sub($shared, 'y', 1, 1));
foreach ([$memory, $shared] as $storage) {
    ob_start();
    var_dump($storage);
    print_r($storage);
    var_export($storage);
    var_dump((array) $storage);
    $dump = ob_get_clean();
    check(str_contains($dump, get_class($storage)), get_class($storage));
}
echo "-- serialisation --\n";
foreach ([$bucket, new Sub($memory, 'y', 1, 1), $memory, $shared] as $object) {
    echo thrown(fn() => serialize($object)), "\n";
    $name = get_class($object);
    echo thrown(fn() => unserialize(sprintf('O:%d:"%s":0:{}', strlen($name), $name))), "\n";
}
echo "-- clones --\n";
echo thrown(fn() => clone $memory), "\n";
echo thrown(fn() => clone $shared), "\n";
echo "-- a second constructor call --\n";
echo thrown(fn() => $shared->__construct('b')), "\n";
echo "-- interfaces and skipped constructors create no objects --\n";
echo thrown(fn() => new TokenBucketStorage), "\n";
echo thrown(fn() => (new ReflectionClass($memory))->newInstanceWithoutConstructor()), "\n";
echo thrown(fn() => (new ReflectionClass($shared))->newInstanceWithoutConstructor()), "\n";
echo "-- comparison --\n";
print_values($bucket == new TokenBucket($memory, 'x', 10, 2.5), $bucket == new TokenBucket($memory, 'y', 10, 2.5), $memory == new TokenBucketStorageMemory);
echo "-- the private member stays private --\n";
echo thrown(fn() => $bucket->_storage), "\n";
echo thrown(function () use ($bucket) {
    $bucket->_storage = null;
}), "\n";
print_values($bucket->consume());
echo "-- writing the private member by reflection causes no crash --\n";
$property = new ReflectionProperty('TokenBucket', '_storage');
$property->setValue($bucket, null);
echo thrown(fn() => $bucket->consume()), "\n";
$property->setValue($bucket, new stdClass);
echo thrown(fn() => $bucket->consume()), "\n";
$property->setValue($bucket, $other = new TokenBucketStorageMemory);
print_values(is_string(thrown(fn() => $bucket->consume())));
?>
--EXPECTF--
-- dumps --
object(TokenBucket)#%d (4) {
  ["_storage":"TokenBucket":private]=>
  object(TokenBucketStorageMemory)#%d (0) {
  }
  ["_identifier":protected]=>
  string(1) "x"
  ["_bucket_capacity":protected]=>
  int(10)
  ["_tokens_per_second":protected]=>
  float(2.5)
}
Sub Object
(
    [_storage:TokenBucket:private] => TokenBucketStorageSharedMemory Object
        (
            [namespace:TokenBucketStorageSharedMemory:private] => shop
        )

    [_identifier:protected] => y
    [_bucket_capacity:protected] => 1
    [_tokens_per_second:protected] => 1
    [extra] => 1
)
-- serialisation --
Exception: Serialization of 'TokenBucket' is not allowed
Exception: Unserialization of 'TokenBucket' is not allowed
Exception: Serialization of 'Sub' is not allowed
Exception: Unserialization of 'Sub' is not allowed
Exception: Serialization of 'TokenBucketStorageMemory' is not allowed
Exception: Unserialization of 'TokenBucketStorageMemory' is not allowed
Exception: Serialization of 'TokenBucketStorageSharedMemory' is not allowed
Exception: Unserialization of 'TokenBucketStorageSharedMemory' is not allowed
-- clones --
Error: Trying to clone an uncloneable object of class TokenBucketStorageMemory
Error: Trying to clone an uncloneable object of class TokenBucketStorageSharedMemory
-- a second constructor call --
Error: TokenBucketStorageSharedMemory has already been constructed
-- interfaces and skipped constructors create no objects --
Error: Cannot instantiate interface TokenBucketStorage
ReflectionException: Class TokenBucketStorageMemory is an internal class marked as final that cannot be instantiated without invoking its constructor
ReflectionException: Class TokenBucketStorageSharedMemory is an internal class marked as final that cannot be instantiated without invoking its constructor
-- comparison --
true false true
-- the private member stays private --
Error: Cannot access private property TokenBucket::$_storage
Error: Cannot access private property TokenBucket::$_storage
true
-- writing the private member by reflection causes no crash --
Error: The TokenBucket object has not been correctly initialized by calling parent::__construct() in its constructor
Error: Call to undefined method consume()
true

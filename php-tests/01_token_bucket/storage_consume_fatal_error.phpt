--TEST--
A fatal error in a bootstrap closure leaves no trace of the record that it has proposed
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
if (is_slow()) {
    die('skip valgrind reports the memory that PHP itself leaks after a fatal error');
}
?>
--FILE--
<?php
$storage = new TokenBucketStorageMemory;
register_shutdown_function(function () use ($storage) {
    foreach (['x', 'y'] as $id) {
        $storage->bootstrap($id, $storage->now());
        var_dump((new TokenBucket($storage, $id, 10, 1))->peek()->remaining);
    }
});
$storage->consume('x', 1, 10, function () {
    trigger_error('dead', E_USER_ERROR);
});
?>
--EXPECTF--
%AFatal error: dead in %s on line %d%A
float(0)
float(0)

--TEST--
A storage stays usable in shutdown functions after exit inside its closure
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

$storage = new TokenBucketStorageMemory;
register_shutdown_function(function () use ($storage) {
    $storage->bootstrap('fatal', microtime(true) - 5.5);
    var_dump((new TokenBucket($storage, 'fatal', 10, 1))->consume(5));
});
$storage->consume('fatal', 1, 10, function () {
    exit("exit\n");
});
?>
--EXPECT--
exit
bool(true)

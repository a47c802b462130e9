--TEST--
A userland storage is called once for each decision, and never for more than the capacity
--FILE--
<?php
require __DIR__ . '/userland_storage.inc.php';

alike(['Recorder', 'TypedRecorder'], function (string $class) {
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    echo "the storage calls the closure within consume()\n";
    $storage->callTheClosure = true;
    $storage->calls = [];
    dump($bucket->consume(), array_column($storage->calls, 0));

    echo "more than the capacity: the storage is not called\n";
    $storage->calls = [];
    dump($bucket->consume(11), $bucket->consume(10.5), $storage->calls);

    echo "the bucket never calls prepare()\n";
    dump(in_array('prepare', array_column($storage->calls, 0)));
});
?>
--EXPECT--
the storage calls the closure within consume()
true ['consume', 'bootstrap']
more than the capacity: the storage is not called
false false []
the bucket never calls prepare()
false

--TEST--
A userland storage is called once for each decision, and never above the capacity
--FILE--
<?php
require __DIR__ . '/userland_storage.inc.php';

foreach (['Recorder', 'TypedRecorder'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    echo "called within consume()\n";
    $storage->callTheClosure = true;
    $storage->calls = [];
    var_dump($bucket->consume(), array_column($storage->calls, 0));

    echo "more than the capacity: not called at all\n";
    $storage->calls = [];
    var_dump($bucket->consume(11), $bucket->consume(10.5), $storage->calls);

    echo "prepare() is never called by the bucket\n";
    var_dump(in_array('prepare', array_column($storage->calls, 0)));
}
?>
--EXPECT--
-- Recorder --
called within consume()
bool(true)
array(2) {
  [0]=>
  string(7) "consume"
  [1]=>
  string(9) "bootstrap"
}
more than the capacity: not called at all
bool(false)
bool(false)
array(0) {
}
prepare() is never called by the bucket
bool(false)
-- TypedRecorder --
called within consume()
bool(true)
array(2) {
  [0]=>
  string(7) "consume"
  [1]=>
  string(9) "bootstrap"
}
more than the capacity: not called at all
bool(false)
bool(false)
array(0) {
}
prepare() is never called by the bucket
bool(false)

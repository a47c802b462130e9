--TEST--
A call is granted if the userland storage returns a truthy value
--FILE--
<?php
require __DIR__ . '/userland_storage.inc.php';

$storage = new Recorder;
$bucket = new TokenBucket($storage, 'x', 10, 1);
foreach ([true, 1, 'yes', [0], new stdClass, 0.1, false, 0, null, '', '0', [], 0.0] as $storage->answer) {
    echo json_encode($storage->answer), ': ', json_encode($bucket->consume()), "\n";
}
?>
--EXPECT--
true: true
1: true
"yes": true
[0]: true
{}: true
0.1: true
false: false
0: false
null: false
"": false
"0": false
[]: false
0: false

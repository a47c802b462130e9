--TEST--
Under CGI: processes share a named segment exactly, and share nothing without it
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/traffic.inc.php';

$folder = temporary_folder();
chmod($folder, 0777);
foreach (['named' => ['tokenbucket.shm_path' => "$folder/segment"], 'private' => []] as $memory => $ini) {
    $apache = new Apache(cgi: true, ini: ['tokenbucket.shm_size' => '1M'] + $ini);
    $consume = $apache->script('consume', CONSUME);
    $traffic = Traffic::of(8, 20, fn () => $apache->get($consume, ['id' => 'x', 'capacity' => 100]));
    check(max($traffic->workers) === 1, 'a process per request');
    echo "$memory: $traffic->granted granted, $traffic->denied denied, $traffic->lost lost\n";
}
?>
--EXPECT--
named: 100 granted, 60 denied, 0 lost
private: 160 granted, 0 denied, 0 lost

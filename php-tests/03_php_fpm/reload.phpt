--TEST--
Under php-fpm: a reload refills no bucket, however the master was started
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

foreach ([
    'in the foreground' => [],
    'as a daemon' => ['daemon' => true],
    'in another folder' => ['working_folder' => '/'],
    'as a daemon in another folder' => ['daemon' => true, 'working_folder' => '/'],
] as $how => $start) {
    $fpm = new Fpm(...$start);
    $consume = $fpm->script('consume', CONSUME);
    $take = fn () => $fpm->get($consume, ['id' => 'x', 'capacity' => 1000]);
    check(Traffic::of(4, 100, $take)->granted === 400, "$how: taken before");
    $fpm->reload();
    check(Traffic::of(4, 100, $take)->granted === 400, "$how: taken between");
    $fpm->reload();
    $last = Traffic::of(4, 100, $take);
    check($last->granted === 200 && $last->denied === 200, "$how: $last->granted granted after two reloads, 200 were left");
    check(!str_contains($fpm->log(), 'tokenbucket.') && !str_contains($fpm->log(), 'refused'), $fpm->log());
    $fpm->stop();
    echo "$how\n";
}
?>
--EXPECT--
in the foreground
as a daemon
in another folder
as a daemon in another folder

--TEST--
Under php-fpm: reloads during traffic refill no bucket
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$fpm = new Fpm(['www' => ['pm.max_children' => 6]]);
$consume = $fpm->script('consume', CONSUME);
$traffic = Traffic::of(8, 1500, fn () => $fpm->get($consume, ['id' => 'x', 'capacity' => 9000]), function () use ($fpm) {
    for ($i = 0; $i < 6; $i++) {
        usleep(30_000);
        $fpm->reload();
    }
});
check($traffic->granted <= 9000, "$traffic->granted granted of 9000");
check($traffic->granted + $traffic->lost >= 9000, "$traffic->granted granted, $traffic->lost lost");
check($traffic->lost < 100, "$traffic->lost lost");
check(count($traffic->workers) >= 12, count($traffic->workers) . ' workers');
echo "Done.\n";
?>
--EXPECT--
Done.

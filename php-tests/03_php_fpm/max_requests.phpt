--TEST--
Under php-fpm: replacing workers after pm.max_requests neither loses nor adds tokens
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$fpm = new Fpm(['www' => ['pm.max_requests' => 20]]);
$consume = $fpm->script('consume', CONSUME);
$traffic = Traffic::of(8, 500, fn () => $fpm->get($consume, ['id' => 'x', 'capacity' => 3000]));
check($traffic->granted === 3000, "$traffic->granted granted of 3000");
check($traffic->denied === 1000 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");
check(count($traffic->workers) >= 4000 / 20, count($traffic->workers) . ' workers');
check(max($traffic->workers) <= 20, 'a worker answered ' . max($traffic->workers));
echo "Done.\n";
?>
--EXPECT--
Done.

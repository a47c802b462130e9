--TEST--
Under php-fpm: reloads during traffic refill no bucket
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$fpm = new Fpm(['www' => ['pm.max_children' => 6]]);
$consume = $fpm->script('consume', CONSUME);
$meet = $fpm->script('meet', MEET);
$traffic = Traffic::of(8, 1500, fn () => $fpm->get($consume, ['id' => 'x', 'capacity' => 9000]), function () use ($fpm, $meet) {
    $seen = [];
    for ($i = 0; $i < 6; $i++) {
        $met = Traffic::of_each(6, $fpm->folder, fn (array $meeting) => $fpm->get($meet, $meeting + ['id' => 'met', 'capacity' => 36]));
        check(array_intersect_key($seen, $met->workers) === [], 'an old worker replied after a reload');
        check($met->granted === 6, "$met->granted granted to six workers");
        $seen += $met->workers;
        $fpm->reload();
    }
});
check($traffic->granted <= 9000, "$traffic->granted granted of 9000");
check($traffic->granted + $traffic->lost >= 9000, "$traffic->granted granted, $traffic->lost lost");
check($traffic->lost < 100, "$traffic->lost lost");
echo "Done.\n";
?>
--EXPECT--
Done.

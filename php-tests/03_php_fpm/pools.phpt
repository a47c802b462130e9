--TEST--
Under php-fpm: pools share buckets, unless tokenbucket.namespace separates the pools
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$namespace = fn (string $name) => ['php_admin_value[tokenbucket.namespace]' => $name];
$fpm = new Fpm([
    'plain_1' => [],
    'plain_2' => [],
    'alone' => $namespace('alone'),
    'shared_1' => $namespace('shared'),
    'shared_2' => $namespace('shared'),
]);
$consume = $fpm->script('consume', CONSUME);
$meet = $fpm->script('meet', MEET);
foreach ([['plain_1', 'plain_2'], ['alone'], ['shared_1', 'shared_2']] as $pools) {
    $met = Traffic::of_each(4 * count($pools), $fpm->folder, fn (array $meeting, int $client) => $fpm->get($meet, $meeting + ['id' => 'x', 'capacity' => 500], $pools[$client % count($pools)]));
    $traffic = Traffic::of(4, 300, function () use ($fpm, $consume, $pools) {
        static $turn = 0;
        return $fpm->get($consume, ['id' => 'x', 'capacity' => 500], $pools[$turn++ % count($pools)]);
    });
    echo implode(' and ', $pools), ': ', $met->granted + $traffic->granted, " granted, $traffic->denied denied\n";
}
?>
--EXPECT--
plain_1 and plain_2: 500 granted, 708 denied
alone: 500 granted, 704 denied
shared_1 and shared_2: 500 granted, 708 denied

--TEST--
Under php-fpm: two masters and the command line share a named segment that outlives the masters
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/traffic.inc.php';

$ini = ['tokenbucket.shm_path' => temporary_folder() . '/segment'];
$granted = [];

$first = new Fpm(ini: $ini);
$second = new Fpm(ini: $ini, daemon: true);
$consume = [$first->script('consume', CONSUME), $second->script('consume', CONSUME)];
$traffic = Traffic::of(4, 100, function () use ($first, $second, $consume) {
    static $turn = 0;
    $query = ['id' => 'x', 'capacity' => 1000];
    return $turn++ % 2 ? $first->get($consume[0], $query) : $second->get($consume[1], $query);
});
echo "two masters: $traffic->granted granted\n";
foreach ([$first, $second] as $fpm) {
    check(array_intersect($fpm->workers(), array_keys($traffic->workers)) !== [], 'workers of both');
}

echo 'command line: ', php_run('
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 1000, 0.001);
    for ($granted = 0; $granted < 100 && $bucket->consume(); $granted++);
    echo $granted, " granted in a segment that is ", TokenBucket\status()["shared_memory"]["backing"], "\n";', ['tokenbucket.shm_size' => '64K'] + $ini);

$first->reload();
$second->stop();
$traffic = Traffic::of(4, 50, fn () => $first->get($consume[0], ['id' => 'x', 'capacity' => 1000]));
echo "after a reload: $traffic->granted granted\n";

$first->stop();
// The new master has another size in its settings. It keeps the file, and with it the buckets.
$third = new Fpm(ini: ['tokenbucket.shm_size' => '4M'] + $ini);
$consume = $third->script('consume', CONSUME);
$traffic = Traffic::of(4, 100, fn () => $third->get($consume, ['id' => 'x', 'capacity' => 1000]));
echo "after a restart: $traffic->granted granted, $traffic->denied denied\n";
foreach ([$first, $second, $third] as $fpm) {
    check(!str_contains($fpm->log(), 'refused'), $fpm->log());
}
?>
--EXPECT--
two masters: 400 granted
command line: 100 granted in a segment that is named
after a reload: 200 granted
after a restart: 300 granted, 100 denied

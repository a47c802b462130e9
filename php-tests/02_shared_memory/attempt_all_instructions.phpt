--TEST--
attemptAll() executes at most 3 times as many instructions per bucket as attempt()
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/callgrind.php';
if (PHP_DEBUG || !has_callgrind()) {
    die('skip needs callgrind and a PHP without assertions');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/callgrind.php';

$counts = instructions(<<<'PHP'
    $storage = new TokenBucketStorageSharedMemory;
    $many = array_map(fn (int $id) => new TokenBucket($storage, "bucket $id", 1e9, 1e6), range(1, 1000));
    [$a, $b, $c] = $three = array_slice($many, 0, 3);
    PHP, [
    'three calls' => '$a->attempt(); $b->attempt(); $c->attempt()',
    'three buckets' => 'TokenBucket::attemptAll($three)',
    'a thousand buckets' => 'TokenBucket::attemptAll($many)',
], [], 2, 6);
$single = $counts['three calls'] / 3;
foreach (['three buckets' => 3, 'a thousand buckets' => 1000] as $name => $buckets) {
    $ratio = $counts[$name] / $buckets / $single;
    check($ratio > 0.5 && $ratio <= 3, "$name: $ratio times the instructions of attempt() per bucket");
}
echo "done\n";
?>
--EXPECT--
done

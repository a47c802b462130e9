--TEST--
attemptAll() of many processes in different orders exceeds no limit and loses no token
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$storage = new TokenBucketStorageSharedMemory;
// The control takes from one bucket after the other, and gives nothing back.
$one_by_one = fn (array $buckets): bool => $buckets[0]->consume() && $buckets[1]->consume();
$limiters = ['attemptAll()' => fn (array $buckets): bool => TokenBucket::attemptAll($buckets)->allowed, 'control' => $one_by_one];
foreach ($limiters as $name => $take) {
    $small = new TokenBucket($storage, "small $name", 5000, 0.001);
    $large = new TokenBucket($storage, "large $name", 8000, 0.001);
    $both = array_sum(in_processes(4, function (int $index, callable $barrier) use ($small, $large, $take): int {
        $buckets = $index % 2 ? [$small, $large] : [$large, $small];
        $granted = 0;
        $barrier();
        for ($i = 0; $i < 5000; $i++) {
            $granted += (int) $take($buckets);
        }
        return $granted;
    }));
    $is_exact = $both === 5000 && $small->peek()->remaining === 0.0 && $large->peek()->remaining === 3000.0;
    check($is_exact === ($name !== 'control'), "$name: granted $both, left {$large->peek()->remaining}");
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
attemptAll() of many processes in different orders exceeds no limit and loses no token
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$storage = new TokenBucketStorageSharedMemory;
for ($round = 0; $round < 5; $round++) {
    $small = new TokenBucket($storage, "small $round", 5000, 0.001);
    $large = new TokenBucket($storage, "large $round", 8000, 0.001);
    $both = array_sum(in_processes(4, function (int $index, callable $barrier) use ($small, $large): int {
        $buckets = $index % 2 ? [$small, $large] : [$large, $small];
        $granted = 0;
        $barrier();
        for ($i = 0; $i < 5000; $i++) {
            $granted += (int) TokenBucket::attemptAll($buckets)->allowed;
        }
        return $granted;
    }));
    check($both === 5000, "granted $both of 5000");
    check($small->peek()->remaining === 0.0, 'small is empty');
    check($large->peek()->remaining === 3000.0, 'large has ' . $large->peek()->remaining);
}
echo "done\n";
?>
--EXPECT--
done

--TEST--
attemptAll() over 3 buckets takes at most 3.5 times as long as 3 attempt(), and over 1,000 buckets at most 2 ms
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0' || PHP_DEBUG) {
    die('skip slow');
}
?>
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
$bucket = fn (int $id) => new TokenBucket($storage, "time $id", 1e9, 1e6);
$many = array_map($bucket, range(1, 1000));
[$a, $b, $c] = $three = array_slice($many, 0, 3);
/** Returns the least time of a call in nanoseconds. */
$least = function (int $calls, callable $call): float {
    $least = INF;
    for ($round = 0; $round < 30; $round++) {
        $begin = hrtime(true);
        for ($i = 0; $i < $calls; $i++) {
            $call();
        }
        $least = min($least, (hrtime(true) - $begin) / $calls);
    }
    return $least;
};
$singles = $least(2_000, function () use ($a, $b, $c) {
    $a->attempt();
    $b->attempt();
    $c->attempt();
});
$batch = $least(2_000, fn () => TokenBucket::attemptAll($three));
check($batch <= 3.5 * $singles, "$batch ns, and $singles ns for single calls");
$time = $least(1, fn () => TokenBucket::attemptAll($many));
check($time <= 2e6, "$time ns for 1,000 buckets");
echo "done\n";
?>
--EXPECT--
done

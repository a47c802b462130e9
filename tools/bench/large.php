<?php
/** Measures calls over many buckets and slots, and compares the least times with targets. */
$storage = new TokenBucketStorageSharedMemory;
$many = array_map(fn (int $id) => new TokenBucket($storage, "bucket $id", 1e9, 1e6), range(1, 1000));
$three = array_slice($many, 0, 3);

/** Returns the least nanoseconds of a call in many rounds. */
function least(int $calls, Closure $call): float
{
    $least = INF;
    for ($round = 0; $round < 100; $round++) {
        $begin = hrtime(true);
        for ($i = 0; $i < $calls; $i++) {
            $call();
        }
        $least = min($least, (hrtime(true) - $begin) / $calls);
    }
    return $least;
}

/** Prints a time and its target, and whether the target was missed. */
function report(string $name, float $nanoseconds, float $target): void
{
    printf("%-40s %12.0f ns, target %12.0f ns%s\n", $name, $nanoseconds, $target, $nanoseconds > $target ? ': missed' : '');
}

$singles = least(2_000, fn () => array_map(fn (TokenBucket $bucket) => $bucket->attempt(), $three));
report('attemptAll() of 3 buckets', least(2_000, fn () => TokenBucket::attemptAll($three)), 3.5 * $singles);
report('attemptAll() of 1,000 buckets', least(1, fn () => TokenBucket::attemptAll($many)), 2e6);
for ($i = 0; $i < 1_000_000; $i++) {
    (new TokenBucket($storage, "slot $i", 5, 0.001))->consume();
}
report('metrics() of two million slots', least(10, TokenBucket\metrics(...)), 1e6);

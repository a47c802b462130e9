--TEST--
metrics() needs no more memory after 2,000 calls, and estimates the states of two million slots
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0' || PHP_DEBUG) {
    die('skip slow');
}
?>
--INI--
tokenbucket.shm_size=32M
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

$storage = new TokenBucketStorageSharedMemory;
$bucket = fn (string $id, float $rate) => new TokenBucket($storage, $id, 5, $rate);
/** Returns the numbers of slots by state from metrics() and from status(). */
$slots = function (): array {
    $metrics = new OpenMetrics(TokenBucket\metrics());
    $memory = TokenBucket\status()['shared_memory'];
    foreach (['live', 'reclaimable', 'pending', 'empty'] as $state) {
        $slots[$state] = [(int) $metrics->value('tokenbucket_slots', ['state' => $state]), $memory[$state]];
    }
    check(array_sum(array_column($slots, 0)) === $memory['slots'], 'the sum of the slots');
    return $slots;
};
for ($i = 0; $i < 100; $i++) {
    $bucket("few $i", 0.001)->consume();
}
check($slots()['live'] === [100, 100], 'few buckets are counted exactly');

for ($i = 0; $i < 1_000_000; $i++) {
    $bucket("many $i", $i % 2 === 0 ? 0.001 : 1e6)->consume();
}
foreach ($slots() as $state => [$estimate, $count]) {
    // The tolerance is 6.5 standard errors, each of at most 0.5 / sqrt(16,384) of two million
    // slots. Of a normal distribution, 1 - erf(6.5 / sqrt(2)) = 8e-11 is outside.
    check(abs($estimate - $count) <= 53_300, "$estimate instead of $count $state slots");
}
$memory = function (): array {
    preg_match('/^VmRSS:\s+(\d+)/m', file_get_contents('/proc/self/status'), $found);
    return [memory_get_usage(), (int) $found[1]];
};
TokenBucket\metrics();
[$php, $resident] = $memory();
for ($i = 0; $i < 2_000; $i++) {
    TokenBucket\metrics();
}
[$php_after, $resident_after] = $memory();
check($php_after <= $php + 1024 && $resident_after <= $resident + 256, "memory grew from $php and $resident to $php_after and $resident_after");
echo "Done.\n";
?>
--EXPECT--
Done.

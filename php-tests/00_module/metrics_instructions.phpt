--TEST--
metrics() executes hardly more instructions for a table with four times as many slots
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

/** Counts the instructions of metrics() and of status() on a table that is one fifth full. */
$count = function (int $slots): array {
    $ini = ['tokenbucket.shm_path' => temporary_folder() . '/segment', 'tokenbucket.shm_size' => (string) (16 * $slots)];
    $buckets = intdiv($slots, 5);
    echo php_run(<<<PHP
        \$storage = new TokenBucketStorageSharedMemory;
        for (\$i = 0; \$i < $buckets; \$i++) {
            (new TokenBucket(\$storage, "id \$i", 1, 0.001))->consume();
        }
        PHP, $ini);
    return instructions('', ['metrics' => 'TokenBucket\metrics()', 'status' => 'TokenBucket\status()'], $ini, 1, 2);
};
[$small, $large] = [$count(131_072), $count(524_288)];
check($large['metrics'] < 1.1 * $small['metrics'], "metrics(): $small[metrics] instructions, and $large[metrics] for four times as many slots");
// The control: status() counts all slots.
check($large['status'] > 3 * $small['status'], "status(): $small[status] instructions, and $large[status] for four times as many slots");
echo "Done.\n";
?>
--EXPECT--
Done.

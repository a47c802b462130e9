--TEST--
wait() ends at the time limit, and gives its tokens back
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
if (is_slow()) {
    die('skip valgrind reports the memory that PHP itself leaks after a fatal error');
}
if (PHP_ZTS) {
    die('skip another signal ends the time');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/processes.php';

set_time_limit(100);
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 1, 0.001);
$bucket->consume();
register_shutdown_function(function () use ($bucket) {
    echo $bucket->peek(0)->remaining, "\n";
});
// PHP's timer sends this signal.
signal_during_sleep('PROF');
try {
    $bucket->reserve()->wait();
} finally {
    echo "not reached\n";
}
?>
--EXPECTF--

Fatal error: Maximum execution time of 100 seconds exceeded in %sreservation_time_limit.php on line %d%A
0

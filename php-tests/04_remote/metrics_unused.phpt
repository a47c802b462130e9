--TEST--
metrics() also counts the failures of a store that no call has used for ten minutes
--SKIPIF--
<?php
(float) file_get_contents('/proc/uptime') > 700 || print 'skip the host has been up for less than ten minutes';
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

$file = temporary_folder() . '/segment';
$ini = ['tokenbucket.shm_path' => $file, 'tokenbucket.shm_size' => '64K', 'tokenbucket.failure_report' => 'none'];
php_run('foreach ([0.1, 9.0] as $timeout) (new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.1:1", timeout: $timeout), "x", 1, 1))->consume();', $ini);
$of = ['server' => 'redis://127.0.0.1:1/0'];
foreach ([2, 1, 0] as $used) {
    [$rows, $text] = json_decode(php_run('echo json_encode([count(TokenBucket\status()["stores"]), TokenBucket\metrics()]);', $ini));
    $metrics = new OpenMetrics($text);
    check($rows === $used && $metrics->sum('tokenbucket_store_breakers', $of) === (float) $used, "$rows rows of $used breakers");
    check($metrics->value('tokenbucket_store_up', $of) === ($used > 0 ? 1.0 : null), 'up');
    check($metrics->sum('tokenbucket_store_failures_total', $of) === 2.0, "failures with $used breakers");
    check($metrics->value('tokenbucket_store_duration_seconds_count', $of) === 2.0, "calls with $used breakers");
    if ($used > 0) {
        // The instant of the last failure is in front of the name. Makes the failure older.
        $segment = file_get_contents($file);
        $at = strpos($segment, $of['server'], $at ?? 0) - 8;
        file_put_contents($file, substr_replace($segment, pack('P', unpack('P', $segment, $at)[1] - 620_000_000_000), $at, 8));
        $at += 16;
    }
}
echo "Done.\n";
?>
--EXPECT--
Done.

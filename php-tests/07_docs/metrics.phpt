--TEST--
docs/reference/status.md lists the metrics of metrics() with their types, labels and units
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

// A store, so that its metrics appear. Nothing listens on this socket.
$redis = new TokenBucketStorageRedis('unix:///nowhere.sock', '', 0.1, TokenBucket\OnFailure::Allow);
(new TokenBucket($redis, 'id', 1, 1))->consume();
$shared_memory = new TokenBucketStorageSharedMemory;
$metrics = new OpenMetrics(TokenBucket\metrics());
// The guard does not run on the command line. 08_guard/metrics.phpt tests these metrics.
const OF_GUARD = ['tokenbucket_guard_in_force', 'tokenbucket_guard_denied_clients', 'tokenbucket_guard_blocks_total', 'tokenbucket_guard_permits_limit'];

$rows = [];
foreach (preg_grep('/^\| `tokenbucket_/', file(__DIR__ . '/../../docs/reference/status.md')) as $line) {
    [, $name, $type, $labels, $unit] = array_map(trim(...), explode('|', $line));
    $rows[trim($name, '`')] = [trim($name, '`'), $type, $labels, $unit];
}
check(array_values(array_intersect(array_keys($rows), OF_GUARD)) === OF_GUARD, 'the metrics of the guard are listed');
$rows = array_diff_key($rows, array_flip(OF_GUARD));
foreach ($rows as [$name, $type, $labels, $unit]) {
    $family = $metrics->families[$name] ?? ['type' => 'missing'];
    check($family['type'] === $type, "$name is $family[type] instead of $type");
    preg_match_all('/\w+/', $labels, $words);
    $emitted = isset($metrics->families[$name]) ? $metrics->labels($name) : [];
    check($emitted === $words[0], "$name has the labels " . implode(', ', $emitted));
    check(!isset($family['unit']) || $family['unit'] === $unit, "$name is not in $unit");
    check(in_array($unit, ['seconds', 'bytes'], true) === (preg_match('/_(seconds|bytes)(_total)?$/', $name) === 1), "the unit of $name");
}
[$listed, $emitted] = [array_column($rows, 0), array_keys($metrics->families)];
check($listed === $emitted, 'the same metrics in the same order, not only in one: '
    . implode(', ', array_merge(array_diff($listed, $emitted), array_diff($emitted, $listed))));
echo count($rows) > 20 ? "Done.\n" : "no rows\n";
?>
--EXPECT--
Done.

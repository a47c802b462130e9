--TEST--
docs/reference/metrics.md lists the metrics of metrics() with their types, labels and units
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

// A store, so that its metrics appear. Nothing listens on this socket.
$redis = new TokenBucketStorageRedis('unix:///nowhere.sock', '', 0.1, TokenBucket\OnFailure::Allow);
(new TokenBucket($redis, 'id', 1, 1))->consume();
$metrics = new OpenMetrics(TokenBucket\metrics());
// The guard does not run on the command line. 08_guard tests this metric.
const OF_GUARD = 'tokenbucket_guard_denied_clients';

$rows = [];
foreach (preg_grep('/^\| `tokenbucket_/', file(__DIR__ . '/../../docs/reference/metrics.md')) as $line) {
    [, $name, $type, $labels, $unit] = array_map(trim(...), explode('|', $line));
    $rows[trim($name, '`')] = [trim($name, '`'), $type, $labels, $unit];
}
check(isset($rows[OF_GUARD]), 'the metric of the guard is listed');
unset($rows[OF_GUARD]);
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

--TEST--
Control: the reader of metrics reports each violation of the format
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

$histogram = "# HELP h_seconds Time.\n# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n"
    . "h_seconds_bucket{le=\"1.0\"} 1\nh_seconds_bucket{le=\"+Inf\"} 2\nh_seconds_count 2\nh_seconds_sum 3.5\n";
$right = "# HELP a_total Help.\n# TYPE a_total counter\na_total{b=\"c\\\\\\\"\\n\"} 1\na_total 2\n$histogram# EOF\n";
$metrics = new OpenMetrics($right);
check($metrics->value('a_total', ['b' => "c\\\"\n"]) === 1.0 && $metrics->sum('a_total') === 3.0, 'the right text');
foreach ([
    ["\n# EOF\n", "\n"],
    ['Help', "\xff"],
    ['Help.', 'Help'],
    ["# TYPE a_total counter\n", ''],
    ["# HELP a_total Help.\n", ''],
    ['a_total counter', 'a_total info'],
    ['a_total counter', 'a_total gauge'],
    ["\na_total 2", "\na_total{b=\"c\\\\\\\"\\n\"} 1"],
    ["\na_total 2", "\na_total NaN"],
    ["\na_total 2", "\na 2"],
    ["\na_total 2", "\na_total  2"],
    ["\na_total 2", "\na_total{b=\"\\x\"} 2"],
    ["\na_total 2", "\na_total{b=\"c\",b=\"d\"} 2"],
    ['# UNIT h_seconds seconds', '# UNIT h_seconds bytes'],
    ['le="1.0"} 1', 'le="1.0"} 3'],
    ['h_seconds_count 2', 'h_seconds_count 1'],
    ['h_seconds_sum', 'h_seconds'],
    ["# EOF\n", "# HELP a_total Again.\n# EOF\n"],
    ["# EOF\n", "a_total{b=\"late\"} 1\n# EOF\n"],
] as [$from, $to]) {
    $wrong = str_replace($from, $to, $right);
    check($wrong !== $right, "$from is replaced");
    check(str_starts_with(thrown(fn () => new OpenMetrics($wrong)), 'RuntimeException: '), json_encode([$from, $to]));
}
echo "Done.\n";
?>
--EXPECT--
Done.

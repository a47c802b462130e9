--TEST--
Each alert of the guard and of permits is active only for its own problem, on promtool's simulated clock
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/prometheus.php';
Prometheus::missing() === null || die('skip ' . Prometheus::missing());
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/prometheus.php';

// Two inputs for each series, with one value a minute. With the first input, the alert is active
// after ten minutes. With the second one, no alert is active.
const SERIES = [
    'TokenbucketGuardDeniesManyClients' => [
        'tokenbucket_guard_denied_clients{namespace="guard: ip 1/day burst 1",day="today"}' => ['101x20', '100x20'],
        'tokenbucket_guard_denied_clients{namespace="guard: ip 1/day burst 1",day="yesterday"}' => ['', '5000x20'],
    ],
    'TokenbucketGuardBlocksManyClients' => [
        'tokenbucket_guard_blocks_total{namespace="guard: ip 1/day burst 1 block 1 day"}' => ['0+6x20', '0+4x20'],
    ],
    'TokenbucketGuardPermitsUsedUp' => [
        'tokenbucket_decisions_total{namespace="guard: on /a* all concurrent 8",store="shared_memory",result="denied",by="store"}' => ['0+1x20', '7x20'],
        'tokenbucket_decisions_total{namespace="guard: on /concurrent ip 8/day burst 8",store="shared_memory",result="denied",by="store"}' => ['', '0+1x20'],
        'tokenbucket_decisions_total{namespace="guard: ip concurrent 8",store="shared_memory",result="granted",by="store"}' => ['', '0+1x20'],
    ],
    'TokenbucketPermitsDenied' => ['tokenbucket_permits_denied_total' => ['0+1x20', '7x20']],
    'TokenbucketPermitsLost' => ['tokenbucket_permits_foreign_total' => ['0x5 1x15', '1x20']],
];

$tests = [];
foreach (SERIES as $alert => $series) {
    foreach ([true, false] as $index => $is_active) {
        $values = array_filter(array_map(fn (array $of) => $of[$index], $series));
        $input = array_map(fn (string $name, string $of) => ['series' => $name, 'values' => $of], array_keys($values), $values);
        $tests[] = ['interval' => '1m', 'input_series' => $input, 'promql_expr_test' => [['eval_time' => '10m', 'expr' => "count(ALERTS{alertstate=\"firing\"}) or vector(0)", 'exp_samples' => [['labels' => '{}', 'value' => (int) $is_active]]]],
            'name' => "$alert " . ($is_active ? 'is active' : 'is not active')];
        if ($is_active) {
            $tests[] = ['promql_expr_test' => [['eval_time' => '10m', 'expr' => "count(ALERTS{alertname=\"$alert\",alertstate=\"firing\"})", 'exp_samples' => [['labels' => '{}', 'value' => 1]]]]] + end($tests);
        }
    }
}
// JSON is YAML, too.
$folder = temporary_folder();
copy(__DIR__ . '/../../examples/prometheus-alerts.yml', "$folder/rules.yml");
$run = function (array $tests) use ($folder): string {
    file_put_contents("$folder/tests.yml", json_encode(['rule_files' => ['rules.yml'], 'evaluation_interval' => '1m', 'tests' => $tests], JSON_UNESCAPED_SLASHES));
    return Prometheus::promtool("test rules $folder/tests.yml");
};
echo $run($tests);
// Control: promtool reports an alert that is active, but not expected.
$tests[0]['promql_expr_test'][0]['exp_samples'][0]['value'] = 0;
check($run($tests) !== '', 'a wrong expectation is reported');
echo count($tests), " tests\n";
?>
--EXPECT--
15 tests

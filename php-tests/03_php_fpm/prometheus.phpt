--TEST--
Prometheus scrapes a php-fpm under load, and its counters equal those of the clients
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/../../tools/testkit/php/prometheus.php';
if (Prometheus::missing() !== null || exec('command -v nginx') === '') {
    die('skip ' . (Prometheus::missing() ?? 'nginx is missing'));
}
?>
--FILE--
<?php
// Set TOKENBUCKET_SCRAPE_SECONDS for a longer run.
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';
require __DIR__ . '/../../tools/testkit/php/prometheus.php';

const EXAMPLES = __DIR__ . '/../../examples';
const CONSUME_EACH = <<<'PHP'
    <?php
    foreach ([
        'shared_memory' => new TokenBucketStorageSharedMemory('api'),
        'redis' => new TokenBucketStorageRedis("redis://127.0.0.1:$_GET[port]", 'api', 60.0, TokenBucket\OnFailure::Local, true),
    ] as $store => $storage) {
        $granted = (new TokenBucket($storage, $_GET['id'], 5, 0.01))->consume();
        echo "$store ", $granted ? 'granted' : 'denied', "\n";
    }
    PHP;

$redis = RedisServer::start();
// These limits apply only to the script "guarded".
$guard = ['tokenbucket.guard' => 'on /guarded ip 1/day block 1 day; on /guarded all concurrent 9'];
$fpm = new Fpm(['www' => ['pm.max_children' => 6, 'listen.mode' => '0666']], $guard);
$nginx = new Nginx($fpm);
$url = "http://127.0.0.1:$nginx->port";
$fpm->script('metrics', file_get_contents(EXAMPLES . '/metrics.php'));
$fpm->script('unfinished', str_replace('echo $text;', 'echo "a 1\n";', file_get_contents(EXAMPLES . '/metrics.php')));
$consume = $fpm->script('consume', CONSUME_EACH);
$fpm->script('guarded', '<?php echo "guarded";');
$prometheus = new Prometheus(['tokenbucket' => "$url/metrics", 'unfinished' => "$url/unfinished"], EXAMPLES . '/prometheus-alerts.yml');

/** Sends requests from four clients, and returns how often each result occurred. */
$load = function (int $requests_of_client, string $prefix = 'id') use ($fpm, $consume, $redis): array {
    $counts = [];
    foreach (in_processes(4, function () use ($fpm, $consume, $redis, $requests_of_client, $prefix): array {
        $counts = [];
        for ($i = 0; $i < $requests_of_client; $i++) {
            $reply = $fpm->get($consume, ['id' => "$prefix " . random_int(1, 50), 'port' => $redis->port]);
            foreach (explode("\n", trim((string) $reply)) as $result) {
                $counts[$result] = ($counts[$result] ?? 0) + 1;
            }
        }
        return $counts;
    }) as $of_client) {
        foreach ($of_client as $result => $count) {
            $counts[$result] = ($counts[$result] ?? 0) + $count;
        }
    }
    return $counts;
};
/** Returns the differences between the counts of the clients and those of Prometheus. */
$differences = function (array $clients) use ($prometheus): array {
    $scraped = [];
    foreach ($prometheus->query('sum by (store, result) (tokenbucket_decisions_total{namespace="api"})') as ['metric' => $of, 'value' => $value]) {
        $scraped["$of[store] $of[result]"] = (int) $value;
    }
    $differences = [];
    foreach ($clients + $scraped as $result => $count) {
        if (($clients[$result] ?? 0) !== ($scraped[$result] ?? 0)) {
            $differences[] = "$result: " . ($clients[$result] ?? 0) . ' at the clients, ' . ($scraped[$result] ?? 0) . ' in Prometheus';
        }
    }
    return $differences;
};

$end = microtime(true) + (float) getenv('TOKENBUCKET_SCRAPE_SECONDS');
$total = [];
for ($round = 0; $round < 2 || microtime(true) < $end; $round++) {
    foreach ($load(200) as $result => $count) {
        $total[$result] = ($total[$result] ?? 0) + $count;
    }
    $prometheus->wait_for_scrape('tokenbucket');
    echo implode("\n", $differences($total));
}
ksort($total);
check(array_keys($total) === ['redis denied', 'redis granted', 'shared_memory denied', 'shared_memory granted'], 'all results: ' . json_encode($total));
check(min($total) > 100, 'load: ' . json_encode($total));
$one_more = ['redis granted' => $total['redis granted'] + 1] + $total;
check(count($differences($one_more)) === 1, 'control: a client that counts one more is reported');

$value = fn (string $query): float => $prometheus->query($query)[0]['value'] ?? NAN;
$failed = sprintf('up{job="tokenbucket"} == 0 and scrape_duration_seconds{job="tokenbucket"} < %d', Prometheus::INTERVAL);
check($prometheus->query("count_over_time(($failed)[1h:1s])") === [], 'only timeouts end a scrape: ' . json_encode($prometheus->get('/api/v1/targets')));
$control = 'count_over_time((' . strtr($failed, ['"tokenbucket"' => '"unfinished"']) . ')[1h:1s])';
// On a busy machine, all scrapes so far may have ended by a timeout.
for ($i = 0; $i < 30 && $prometheus->query($control) === []; $i++) {
    $prometheus->wait_for_scrape('tokenbucket');
}
check($prometheus->query($control) !== [], 'control: failed scrapes are found');
check($value('max_over_time(up{job="unfinished"}[1h])') === 0.0, 'control: Prometheus reads OpenMetrics, which ends with EOF');
check($value('sum_over_time(up{job="tokenbucket"}[1h])') >= $round, 'the number of scrapes');
foreach ($prometheus->query('group by (__name__) ({__name__=~"tokenbucket_.*_(total|count|sum|bucket)"})') as ['metric' => ['__name__' => $name]]) {
    check($value("max(resets({$name}[1h]))") === 0.0, "$name fell");
}
check($value('sum(tokenbucket_store_duration_seconds_count)') === $value('tokenbucket_remote_calls_total'), 'the histogram has each call');
check($value('sum(tokenbucket_decisions_total{by="denial_cache"})') === $value('tokenbucket_remote_cached_denials_total'), 'cached denials');
$types = array_map(fn (array $of) => $of[0]['type'], $prometheus->get('/api/v1/metadata'));
check($types['tokenbucket_decisions'] === 'counter' && $types['tokenbucket_store_duration_seconds'] === 'histogram', 'metadata');

foreach (range(1, 3) as $_) {
    @file_get_contents("$url/guarded");
}
$prometheus->wait_for_scrape('tokenbucket');
check($value('tokenbucket_guard_blocks_total{namespace="guard: on /guarded ip 1/day burst 1 block 1 day"}') === 1.0, 'a block');
check($value('tokenbucket_guard_denied_clients{namespace="guard: on /guarded ip 1/day burst 1 block 1 day",day="today"}') >= 0.0, 'denied clients');
check($value('tokenbucket_permits_held == on (instance, job, namespace) tokenbucket_guard_permits_limit - 9') === 0.0, 'permits in use, with their limit');

echo "Each panel of the dashboard has data:\n";
$panels = 0;
foreach (json_decode(file_get_contents(EXAMPLES . '/grafana-dashboard.json'), true, flags: JSON_THROW_ON_ERROR)['panels'] as $panel) {
    foreach ($panel['targets'] as ['expr' => $query]) {
        $query = strtr($query, ['$__rate_interval' => '1m', '$instance' => '.*']);
        $numbers = array_filter(array_column($prometheus->query($query), 'value'), is_finite(...));
        check($numbers !== [], "$panel[title]: no data for $query");
    }
    $panels++;
}
check($panels === 16, "$panels panels");

echo "promtool and Prometheus accept the text and the alerts:\n";
$text = file_get_contents("$url/metrics");
new OpenMetrics($text);
echo Prometheus::promtool('check metrics', $text);
check(Prometheus::promtool('check metrics', str_replace('decisions_total', 'decisions', $text)) !== '', 'control: promtool finds a wrong name');
echo Prometheus::promtool('check rules ' . escapeshellarg(EXAMPLES . '/prometheus-alerts.yml'));
foreach (['', "Accept: application/openmetrics-text; version=1.0.0\r\n"] as $accept) {
    $stream = fopen("$url/metrics", 'r', false, stream_context_create(['http' => ['header' => $accept]]));
    echo implode("\n", preg_grep('/^Content-Type/', stream_get_meta_data($stream)['wrapper_data'])), "\n";
    preg_match('/^# TYPE tokenbucket_decisions.*/m', stream_get_contents($stream), $type);
    echo "$type[0]\n";
}
$redis->kill();
// Uses new buckets, because calls that the denial cache denies do not contact Redis.
$load(25, 'another');
$active = fn () => array_column(array_column($prometheus->get('/api/v1/alerts')['alerts'], 'labels'), 'alertname');
for ($i = 0; $i < 600 && !in_array('TokenbucketStoreDown', $active(), true); $i++) {
    usleep(100_000);
}
check($active() === ['TokenbucketStoreDown'] || $active() === ['TokenbucketStoreDown', 'TokenbucketFallback'], 'alerts: ' . json_encode($active()));
foreach ($prometheus->get('/api/v1/rules')['groups'][0]['rules'] as $rule) {
    check($rule['health'] === 'ok', "$rule[name]: " . ($rule['lastError'] ?? ''));
}
?>
--EXPECT--
Each panel of the dashboard has data:
promtool and Prometheus accept the text and the alerts:
Content-Type: text/plain; version=0.0.4; charset=utf-8
# TYPE tokenbucket_decisions_total counter
Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8
# TYPE tokenbucket_decisions counter

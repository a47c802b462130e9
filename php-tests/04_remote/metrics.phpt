--TEST--
metrics() counts calls to stores, their durations, failures, breakers and fallbacks
--EXTENSIONS--
pdo
pdo_sqlite
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/outage.inc.php';
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

use TokenBucket\OnFailure;

$read = fn () => new OpenMetrics(TokenBucket\metrics());
check(!isset($read()->families['tokenbucket_store_up']), 'no store at first');
foreach (Store::each() as $kind => $store) {
    $server = substr($store->name(), 0, 64);
    $of = ['server' => $server];
    $decisions = fn (string $result, string $by) => $read()->value(
        'tokenbucket_decisions_total',
        ['namespace' => 'api:', 'store' => strtolower($kind), 'result' => $result, 'by' => $by]
    );
    $histogram = fn () => $read()->value('tokenbucket_store_duration_seconds_count', $of);
    $storage = $store->storage(OnFailure::Local, 'api:', true);
    $bucket = new TokenBucket($storage, 'x', 3, 0.001);
    $before = hrtime(true);
    for ($i = 0; $i < 8; $i++) {
        check($bucket->consume() === $i < 3, "call $i");
    }
    check([$decisions('granted', 'store'), $decisions('denied', 'store'), $decisions('denied', 'denial_cache')] === [3.0, 1.0, 4.0], 'decisions');
    check($decisions('granted', 'denial_cache') === null || $decisions('granted', 'denial_cache') === 0.0, 'the cache only denies');
    check($histogram() === 4.0, "{$histogram()} calls");
    $bucket->peek();
    $bucket->refund();
    $seconds = (hrtime(true) - $before) / 1e9;
    check($histogram() === 6.0, "{$histogram()} calls with peek and refund");
    $sum = $read()->value('tokenbucket_store_duration_seconds_sum', $of);
    check($sum > 0.0 && $sum <= $seconds, "$sum of $seconds seconds");
    check($read()->value('tokenbucket_store_up', $of) === 1.0, 'up');

    // A storage with another timeout has its own breaker, but belongs to the same server.
    $class = $storage::class;
    $slow = new TokenBucket(new $class("unix://{$store->server->socket}", 'api:', 9.0, OnFailure::Local), 'x', 3, 0.001);
    $slow->consume();
    check($read()->value('tokenbucket_store_breakers', ['state' => 'closed'] + $of) === 2.0, 'two breakers');
    check($histogram() === 7.0, 'calls of both timeouts');
    // The order of the rows of two timeouts depends on the server's name.
    $rows = array_column(array_filter(TokenBucket\status()['stores'], fn (array $row) => str_starts_with($store->name(), $row['name'])), null, 'calls');
    $row = $rows[6] ?? [];
    check(count($rows) === 2 && isset($rows[1]) && $row['seconds'] > 0.0, json_encode($rows));
    // On a busy machine a call may take more than a second, which exceeds the greatest limit of the
    // histogram.
    check($row['p99'] === null ? $row['seconds'] > 1.0 : $row['p99'] >= 5e-5, 'p99 in status()');
    check(array_sum(array_column(TokenBucket\status()['stores'], 'calls')) === TokenBucket\status()['remote']['asked'], 'all calls');

    $store->server->kill();
    $openings = fn () => $read()->value('tokenbucket_store_breaker_openings_total', $of);
    foreach ([OnFailure::Local, OnFailure::Allow, OnFailure::Deny] as $policy) {
        $failing = new TokenBucket($store->storage($policy, 'api:'), $policy->name, 1, 0.001);
        foreach ([1, 2] as $call) {
            $was_open = $openings() > 0;
            $failing->consume();
            if (!$was_open && $openings() > 0) {
                $failures = $read()->sum('tokenbucket_store_failures_total', $of);
                check($failures === 3.0, "$failures failures open the breaker");
            }
        }
    }
    check([$decisions('granted', 'fallback'), $decisions('denied', 'fallback')] === [3.0, 3.0], 'fallbacks');
    $metrics = $read();
    $failures = $metrics->sum('tokenbucket_store_failures_total', $of);
    // On a busy machine, probes of the store may have failed as well.
    check($failures >= 3.0, "$failures failures");
    check($failures === $metrics->value('tokenbucket_store_failures_total', ['cause' => 'connect'] + $of)
        + $metrics->value('tokenbucket_store_failures_total', ['cause' => 'broken'] + $of), 'their causes');
    check($metrics->value('tokenbucket_store_failures_total', ['cause' => 'timeout'] + $of) === 0.0, 'causes without failures');
    check($metrics->value('tokenbucket_store_up', $of) === 0.0, 'down');
    check($metrics->sum('tokenbucket_store_breakers', $of) === 2.0
        && $metrics->value('tokenbucket_store_breakers', ['state' => 'closed'] + $of) === 1.0, 'one breaker is open');
    check($metrics->value('tokenbucket_store_breaker_openings_total', $of) === 1.0, 'an opening');
    check($histogram() === 7.0 + $failures, 'failed calls have a duration, too');
    $store->server->restart();
    check($store->is_back() && $read()->value('tokenbucket_store_up', $of) === 1.0, 'up again');
}

$metrics = $read();
$remote = TokenBucket\status()['remote'];
foreach ([
    'asked' => 'calls', 'cached' => 'cached_denials', 'failed' => 'failures', 'opened' => 'breaker_openings', 'set_back' => 'clocks_set_back',
    'taken_ahead' => 'taken_ahead', 'used_ahead' => 'used_ahead', 'dropped_ahead' => 'dropped_ahead',
] as $field => $name) {
    check($metrics->value("tokenbucket_remote_{$name}_total") === (float) $remote[$field], $name);
}
foreach (['local' => 'local', 'allowed' => 'allow', 'denied' => 'deny', 'thrown' => 'throw'] as $field => $policy) {
    check($metrics->value('tokenbucket_remote_fallbacks_total', ['policy' => $policy]) === (float) $remote[$field], $policy);
}

$database = new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits');
$database->prepare();
$bucket = new TokenBucket($database, 'x', 1, 0.001);
$bucket->consume();
$bucket->consume();
$metrics = $read();
check($metrics->value('tokenbucket_store_duration_seconds_count', ['server' => 'sqlite table limits']) === 3.0, 'prepare() and two decisions');

// Quotes and backslashes in a name cannot end the label.
$path = str_repeat('"\\', 9);
$quoted = new TokenBucketStorageRedis("unix:///$path.sock", '', 0.1, OnFailure::Allow);
(new TokenBucket($quoted, 'x', 1, 1))->consume();
$name = substr('unix:///' . rawurlencode($path), 0, 32);
check(count(preg_grep('/store_up{"server":"' . preg_quote($name, '/') . '/', str_replace('\\/', '/', array_keys($read()->samples)))) === 1, 'quotes');
echo "Done.\n";
?>
--EXPECT--
Done.

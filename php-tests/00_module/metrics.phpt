--TEST--
TokenBucket\metrics() counts decisions and slots in the format of OpenMetrics
--INI--
tokenbucket.track_identifiers=1
tokenbucket.shm_size=64K
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/open_metrics.php';

$read = fn () => new OpenMetrics(TokenBucket\metrics());
$metrics = $read();
check(!isset($metrics->families['tokenbucket_decisions_total']), 'no decisions at first');
check($metrics->value('tokenbucket_info', [
    'version' => phpversion('tokenbucket'),
    'backing' => TokenBucket\status()['shared_memory']['backing'],
    'full' => 'evict',
]) === 1.0, 'the version');

echo "Any namespace is a label of its own:\n";
$names = ['', 'login', 'a"b', "two\nlines", 'App\Http\Login', "\xff\xfe", '\xff\xfe', "\\\xff", '\\\\', '\n', "zero\0", "\x7f\r\t",
    "caf\u{e9}", "caf\xc3", "\u{fffd}", '(others)', '{}="', '<b>', 'x" 1' . "\n# EOF"];
foreach ($names as $index => $name) {
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory($name), 'secret@example.org', $index + 1, 0.001);
    while ($bucket->consume()) {
    }
}
$text = TokenBucket\metrics();
$metrics = new OpenMetrics($text);
$labels = [];
foreach ($names as $index => $name) {
    foreach ($metrics->samples as $key => $value) {
        if ($value === $index + 1.0 && str_contains($key, '"granted"')) {
            $label = json_decode(substr($key, strpos($key, '{')), true)['namespace'];
            $labels[] = $label;
            echo json_encode($name, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE), ' => ', json_encode($label, JSON_UNESCAPED_UNICODE), "\n";
            $of = ['namespace' => $label, 'store' => 'shared_memory', 'by' => 'store'];
            check($metrics->value('tokenbucket_decisions_total', ['result' => 'denied'] + $of) === 1.0, "the denial of $label");
        }
    }
}
check(count(array_unique($labels)) === count($names), 'different names have different labels');
check(!str_contains($text, 'secret'), 'no identifier');

echo "Namespaces without a row are added up:\n";
for ($i = 0; $i < 100; $i++) {
    (new TokenBucket(new TokenBucketStorageSharedMemory("namespace $i"), 'id', 1, 1))->consume();
}
$metrics = $read();
var_dump($metrics->value('tokenbucket_decisions_total', ['namespace' => '(others)', 'store' => 'shared_memory', 'result' => 'granted', 'by' => 'store']));
$memory = TokenBucket\status()['shared_memory'];
check($metrics->sum('tokenbucket_decisions_total', ['result' => 'granted']) === (float) $memory['granted'], 'all grants');
check($metrics->sum('tokenbucket_decisions_total', ['result' => 'denied']) === (float) $memory['denied'], 'all denials');

echo "The other counters are those of status():\n";
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'other', 9, 1);
$bucket->consume();
$bucket->refund();
$bucket->reset();
for ($i = 0; $i < 8_000; $i++) {
    (new TokenBucket(new TokenBucketStorageSharedMemory, "id $i", 5, 0.01))->consume();
}
// A bucket may fill up between two reads.
do {
    $memory = TokenBucket\status()['shared_memory'];
    $metrics = $read();
} while (TokenBucket\status()['shared_memory']['live'] !== $memory['live']);
foreach ([
    'refunds' => 'refunds_total', 'resets' => 'resets_total', 'inserted' => 'slots_inserted_total', 'evicted' => 'slots_evicted_total',
    'refused' => 'refused_total', 'evicted_seconds' => 'evicted_seconds_total', 'evicted_seconds_max' => 'evicted_max_seconds', 'size' => 'segment_bytes',
] as $field => $name) {
    check($metrics->value("tokenbucket_$name") === (float) $memory[$field], "$name is $field");
}
foreach (['live', 'reclaimable', 'pending', 'empty'] as $state) {
    check($metrics->value('tokenbucket_slots', ['state' => $state]) === (float) $memory[$state], "$state slots");
}
check($memory['evicted'] > 0 && $memory['live'] > 0 && $memory['refunds'] > 0, 'there is something to compare');
check(abs($metrics->value('tokenbucket_segment_age_seconds') - $memory['age']) < 60.0, 'the age');
echo thrown(fn () => TokenBucket\metrics(1)), "\n";
?>
--EXPECT--
Any namespace is a label of its own:
"" => ""
"login" => "login"
"a\"b" => "a\"b"
"two\nlines" => "two\nlines"
"App\\Http\\Login" => "App\\Http\\Login"
"��" => "\\xff\\xfe"
"\\xff\\xfe" => "\\x5cxff\\x5cxfe"
"\\�" => "\\\\xff"
"\\\\" => "\\\\"
"\\n" => "\\n"
"zero\u0000" => "zero\\x00"
"\r\t" => "\\x7f\\x0d\\x09"
"café" => "café"
"caf�" => "caf\\xc3"
"�" => "�"
"(others)" => "\\x28others)"
"{}=\"" => "{}=\""
"<b>" => "<b>"
"x\" 1\n# EOF" => "x\" 1\n# EOF"
Namespaces without a row are added up:
float(71)
The other counters are those of status():
ArgumentCountError: TokenBucket\metrics() expects exactly 0 arguments, 1 given

--TEST--
status() says that it is the polyfill, and has the fields and the version of the extension
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/check.php';
require __DIR__ . '/child.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 10, 1e-5);
$bucket->consume();
$status = TokenBucket\status();
$memory = $status['shared_memory'];
print_values($status['polyfill'], $memory['backing'], $memory['live'], $memory['live'] + $memory['empty'] === $memory['slots']);
print_values($memory['path'] === TokenBucket\Polyfill\Settings::folder() . '/' . TokenBucket\Polyfill\Settings::file());
print_values(filesize($memory['path']) === $memory['size'], $memory['age'] >= 0 && $memory['age'] < 300);

$permit = (new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 2))->acquire();
print_values(TokenBucket\status()['permits']['held']);
$permit->release();
print_values(TokenBucket\status()['permits']['held']);

echo "-- the fields that the stub declares --\n";
$stub = file_get_contents(dirname(__DIR__, 3) . '/stubs/tokenbucket.stub.php');
preg_match('/@return array\{(\s.*?)\n     \* \}\n.*?\n    function status/s', $stub, $found);
preg_match_all('/(\w+): /', $found[1], $fields);
$known = [...array_keys($status), ...array_keys($memory), ...array_keys($status['remote']), ...array_keys($status['permits'])];
// These fields are in lists, which are empty, or those of the guard, which the polyfill lacks.
$listed = ['store', 'namespace', 'granted_by_store', 'denied_by_store', 'denied_by_denial_cache', 'granted_by_fallback', 'denied_by_fallback',
    'guard', 'in_force', 'reason', 'identifier', 'name', 'timeout', 'breaker', 'failures', 'retry_after', 'last_cause', 'last_cause_age', 'causes', 'calls', 'seconds', 'p99'];
print_values(array_values(array_diff($fields[1], $known, $listed)), array_values(array_diff($known, $fields[1])));

echo "-- versions --\n";
$root = dirname(__DIR__, 3);
$provided = json_decode(file_get_contents("$root/bridges/polyfill/composer.json"))->provide->{'ext-tokenbucket'};
print_values($status['version'] === $provided);
echo preg_replace('/\d+$/m', '%d', preg_replace('/version="[^"]+"/', 'version="…"', TokenBucket\metrics()));
?>
--EXPECT--
true 'file' 1 true
true
true true
1
0
-- the fields that the stub declares --
[] ['polyfill']
-- versions --
true
# HELP tokenbucket_info The extension and its shared memory.
# TYPE tokenbucket_info gauge
tokenbucket_info{version="…",backing="file",full="grow",polyfill="true"} %d
# HELP tokenbucket_segment_bytes Size of the segment.
# TYPE tokenbucket_segment_bytes gauge
# UNIT tokenbucket_segment_bytes bytes
tokenbucket_segment_bytes %d
# HELP tokenbucket_slots Slots by state, estimated in a large table.
# TYPE tokenbucket_slots gauge
tokenbucket_slots{state="live"} %d
tokenbucket_slots{state="empty"} %d
# EOF

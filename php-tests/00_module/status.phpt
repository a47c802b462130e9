--TEST--
TokenBucket\status() has the documented shape
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

function shape(array $array, string $indent = ''): void
{
    foreach ($array as $name => $value) {
        echo $indent, $name, ': ', get_debug_type($value), "\n";
        if (is_array($value)) {
            shape($value, "$indent  ");
        }
    }
}

$status = TokenBucket\status();
shape($status);
$stub = file_get_contents(__DIR__ . '/../../stubs/tokenbucket.stub.php');
preg_match('/@return array\{(\s.*?)\n     \* \}\n.*?\n    function status/s', $stub, $found);
preg_match_all('/^     \*     (\w+): /m', $found[1], $fields);
print_values(array_keys($status) === $fields[1]);

$memory = $status['shared_memory'];
print_values($status['version'] === phpversion('tokenbucket'), $memory['backing'], $memory['path'], $memory['full']);
print_values($memory['size'] >= 32 << 20 && $memory['size'] < 36 << 20);
print_values($memory['slots'] === (32 << 20) / 16);
print_values($memory['slots'] === $memory['live'] + $memory['reclaimable'] + $memory['pending'] + $memory['empty']);
print_values($memory['empty'] === $memory['slots'], $memory['age'] >= 0 && $memory['age'] < 300);
print_values($status['most_denied'], $status['stores'], array_unique(array_values($status['remote'])));
?>
--EXPECT--
version: string
shared_memory: array
  backing: string
  path: string
  size: int
  full: string
  slots: int
  live: int
  reclaimable: int
  pending: int
  empty: int
  granted: int
  denied: int
  refunds: int
  resets: int
  inserted: int
  reclaimed: int
  adopted: int
  duplicates: int
  stolen: int
  conflicts: int
  contended: int
  refused: int
  evicted: int
  blocked: int
  evicted_seconds: float
  evicted_seconds_max: float
  age: float
guard: array
  in_force: bool
  reason: string
decisions: array
most_denied: array
permits: array
  held: int
  denied: int
  taken_back: int
  foreign: int
  unavailable: null
remote: array
  asked: int
  cached: int
  failed: int
  opened: int
  local: int
  allowed: int
  denied: int
  thrown: int
  set_back: int
  taken_ahead: int
  used_ahead: int
  dropped_ahead: int
stores: array
true
true 'memfd' '' 'evict'
true
true
true
true true
[] [] [0]

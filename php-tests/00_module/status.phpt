--TEST--
TokenBucket\status() has the documented shape
--FILE--
<?php
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

$memory = $status['shared_memory'];
var_dump($status['version'] === phpversion('tokenbucket'), $memory['backing'], $memory['path'], $memory['full']);
var_dump($memory['size'] >= 32 << 20 && $memory['size'] < 35 << 20);
var_dump($memory['slots'] === (32 << 20) / 16);
var_dump($memory['slots'] === $memory['live'] + $memory['reclaimable'] + $memory['pending'] + $memory['empty']);
var_dump($memory['empty'] === $memory['slots']);
var_dump($memory['age'] >= 0 && $memory['age'] < 300);
var_dump($status['most_denied'], $status['stores']);
var_dump(array_unique(array_values($status['remote'])));
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
  evicted_seconds: float
  evicted_seconds_max: float
  age: float
decisions: array
most_denied: array
remote: array
  asked: int
  hinted: int
  failed: int
  opened: int
  local: int
  allowed: int
  denied: int
  thrown: int
  set_back: int
stores: array
bool(true)
string(5) "memfd"
string(0) ""
string(5) "evict"
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
array(0) {
}
array(0) {
}
array(1) {
  [0]=>
  int(0)
}

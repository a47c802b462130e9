--TEST--
Decision is final and read-only
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$bucket = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 4);
$decision = $bucket->attempt(5);
var_dump($decision);
print_r($decision);
echo json_encode($decision), "\n";
print_values((new ReflectionClass($decision))->isFinal());

echo "-- read-only --\n";
foreach (['allowed' => true, 'remaining' => 1.0, 'capacity' => 1.0, 'retryAfter' => 1.0, 'resetAfter' => 1.0, 'reason' => 'x', 'fallback' => true, 'refusedBy' => 1, 'unit' => 'x'] as $name => $value) {
    echo thrown(function () use ($decision, $name, $value) {
        $decision->$name = $value;
    }), "\n";
    check(thrown(function () use ($decision, $name) {
        unset($decision->$name);
    }) !== 'nothing thrown', "unset $name");
    check(thrown(function () use ($decision, $name) {
        $reference = &$decision->$name;
        $reference = null;
    }) !== 'nothing thrown', "reference to $name");
}
echo thrown(function () use ($decision) {
    $decision->extra = 1;
}), "\n";

echo "-- not made without its constructor --\n";
print_values(thrown(fn() => (new ReflectionClass('TokenBucket\Decision'))->newInstanceWithoutConstructor()) !== 'nothing thrown');
echo thrown(fn() => serialize($decision)), "\n";
echo thrown(fn() => unserialize('O:20:"TokenBucket\Decision":0:{}')), "\n";

echo "-- copies --\n";
$clone = clone $decision;
print_values($clone == $decision, $clone === $decision, $clone->headers() === $decision->headers());
unset($decision, $bucket);
print_values($clone->remaining, $clone->reason);
?>
--EXPECTF--
object(TokenBucket\Decision)#%d (9) {
  ["allowed"]=>
  bool(true)
  ["remaining"]=>
  float(5)
  ["capacity"]=>
  float(10)
  ["retryAfter"]=>
  float(0)
  ["resetAfter"]=>
  float(1.25)
  ["reason"]=>
  string(7) "granted"
  ["fallback"]=>
  bool(false)
  ["refusedBy"]=>
  NULL
  ["unit"]=>
  NULL
}
TokenBucket\Decision Object
(
    [allowed] => 1
    [remaining] => 5
    [capacity] => 10
    [retryAfter] => 0
    [resetAfter] => 1.25
    [reason] => granted
    [fallback] => 
    [refusedBy] => 
    [unit] => 
)
{"allowed":true,"remaining":5,"capacity":10,"retryAfter":0,"resetAfter":1.25,"reason":"granted","fallback":false,"refusedBy":null,"unit":null}
true
-- read-only --
Error: Cannot modify readonly property TokenBucket\Decision::$allowed
Error: Cannot modify readonly property TokenBucket\Decision::$remaining
Error: Cannot modify readonly property TokenBucket\Decision::$capacity
Error: Cannot modify readonly property TokenBucket\Decision::$retryAfter
Error: Cannot modify readonly property TokenBucket\Decision::$resetAfter
Error: Cannot modify readonly property TokenBucket\Decision::$reason
Error: Cannot modify readonly property TokenBucket\Decision::$fallback
Error: Cannot modify readonly property TokenBucket\Decision::$refusedBy
Error: Cannot modify readonly property TokenBucket\Decision::$unit
Error: Cannot create dynamic property TokenBucket\Decision::$extra
-- not made without its constructor --
true
Exception: Serialization of 'TokenBucket\Decision' is not allowed
Exception: Unserialization of 'TokenBucket\Decision' is not allowed
-- copies --
true false true
5.0 'granted'

--TEST--
attemptAll() takes from all buckets or from none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$second = new TokenBucket($storage, 'per second', 3, 1);
$minute = new TokenBucket($storage, 'per minute', 5, 0.1);
$left = fn(...$buckets) => implode(' ', array_map(fn($bucket) => $bucket->peek()->remaining, $buckets));

echo "-- granted: returns the decision of the bucket with the fewest tokens left --\n";
show(TokenBucket::attemptAll([$second, $minute]));
show(TokenBucket::attemptAll([$minute, $second], 2));
echo $left($second, $minute), "\n";
echo "-- denied: returns the denying bucket's decision and takes nothing --\n";
show(TokenBucket::attemptAll([$minute, $second]));
echo $left($second, $minute), "\n";
$storage->advance(3);
show(TokenBucket::attemptAll([$second, $minute], 3));
echo $left($second, $minute), "\n";
show(TokenBucket::attemptAll([$second, $minute], 4));
echo $left($second, $minute), "\n";
show(TokenBucket::attemptAll(['a' => $second, 7 => $minute], 2));
echo $left($second, $minute), "\n";

echo "-- a bucket listed twice is charged twice --\n";
$twice = new TokenBucket($storage, 'twice', 5, 1);
$again = new TokenBucket($storage, 'twice', 5, 1);
show(TokenBucket::attemptAll([$twice, $twice]));
show(TokenBucket::attemptAll([$twice, $again]));
var_dump(TokenBucket::attemptAll([$twice, $again])->allowed);
echo $left($twice), "\n";
show(TokenBucket::attemptAll([$twice]));

echo "-- subclasses that change protected properties --\n";
class Sub extends TokenBucket
{
    public function capacity($capacity)
    {
        $this->_bucket_capacity = $capacity;
    }
}
$sub = new Sub(new TokenBucketStorageMemory, 'x', 10, 1);
$sub->capacity(2);
show(TokenBucket::attemptAll([$sub], 2));
show(Sub::attemptAll([$sub]));

echo "-- one bucket: the decision of attempt(), and the key if it refuses --\n";
$one = new TokenBucket($storage, 'one', 2, 1);
foreach ([1, 2, 3, 1] as $tokens) {
    $decision = TokenBucket::attemptAll(['key' => [$one, $tokens]]);
    show($decision);
    var_dump($decision->refusedBy);
}
echo $left($one), "\n";
?>
--EXPECT--
-- granted: returns the decision of the bucket with the fewest tokens left --
allowed granted remaining=2.0 capacity=3.0 retryAfter=0.0 resetAfter=1.0
allowed granted remaining=0.0 capacity=3.0 retryAfter=0.0 resetAfter=3.0
0 2
-- denied: returns the denying bucket's decision and takes nothing --
denied insufficient_tokens remaining=0.0 capacity=3.0 retryAfter=1.0 resetAfter=3.0
0 2
denied insufficient_tokens remaining=2.0 capacity=5.0 retryAfter=7.0 resetAfter=27.0
3 2
denied exceeds_capacity remaining=3.0 capacity=3.0 retryAfter=INF resetAfter=0.0
3 2
allowed granted remaining=0.0 capacity=5.0 retryAfter=0.0 resetAfter=47.0
1 0
-- a bucket listed twice is charged twice --
allowed granted remaining=3.0 capacity=5.0 retryAfter=0.0 resetAfter=2.0
allowed granted remaining=1.0 capacity=5.0 retryAfter=0.0 resetAfter=4.0
bool(false)
1
allowed granted remaining=0.0 capacity=5.0 retryAfter=0.0 resetAfter=5.0
-- subclasses that change protected properties --
allowed granted remaining=0.0 capacity=2.0 retryAfter=0.0 resetAfter=2.0
denied insufficient_tokens remaining=0.0 capacity=2.0 retryAfter=1.0 resetAfter=2.0
-- one bucket: the decision of attempt(), and the key if it refuses --
allowed granted remaining=1.0 capacity=2.0 retryAfter=0.0 resetAfter=1.0
NULL
denied insufficient_tokens remaining=1.0 capacity=2.0 retryAfter=1.0 resetAfter=1.0
string(3) "key"
denied exceeds_capacity remaining=1.0 capacity=2.0 retryAfter=INF resetAfter=1.0
string(3) "key"
allowed granted remaining=0.0 capacity=2.0 retryAfter=0.0 resetAfter=2.0
NULL
0

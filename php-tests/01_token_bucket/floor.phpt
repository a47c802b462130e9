--TEST--
attempt() and peek() with a floor leave its tokens in the bucket
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 2);
echo "-- less important calls stop at the floor --\n";
while (($decision = $bucket->attempt(1, floor: 6))->allowed);
show($decision);
show($bucket->attempt(5));
echo "-- header fields are those of the tokens above the floor --\n";
$bucket->reset();
foreach ([[3, 0], [0, 6], [1, 6], [1, 6], [1, 9.5], [5, 6]] as [$tokens, $floor]) {
    $decision = $bucket->attempt($tokens, $floor);
    ['RateLimit-Policy' => $policy, 'RateLimit' => $left, 'X-RateLimit-Limit' => $q, 'X-RateLimit-Remaining' => $r] = $headers = $decision->headers('p', true);
    echo "$decision->reason: $policy $left ", $headers['Retry-After'] ?? 'none', " $q $r\n";
}
echo "-- lists --\n";
$bucket->reset();
$decision = TokenBucket::attemptAll(['all' => $bucket, 'low' => [$bucket, 2, 8]]);
print_values($decision->allowed, $decision->refusedBy, $decision->reason);
$decision = TokenBucket::attemptAll(['low' => [$bucket, 1, 8], 'all' => $bucket]);
print_values($decision->allowed, $decision->refusedBy, $decision->remaining);
$decision = TokenBucket::attemptAll([$bucket, new TokenBucket($storage, 'y', 10, 2)], 11);
print_values($decision->reason, $decision->refusedBy);
print_values(array_column(TokenBucket::attemptEach([[$bucket, 1, 8], [$bucket, 1, 7], [$bucket, 1]]), 'reason'));
echo "-- a floor above the capacity denies also a call for nothing on a bucket without a record --\n";
foreach ([$storage, new TokenBucketStorageSharedMemory] as $each) {
    $limit = new TokenBucket($each, 'idle', 2, 1 / 60);
    for ($i = 0, $passed = 0; $i < 50; $i++) {
        $passed += TokenBucket::attemptAll([$limit, [new TokenBucket($each, 'empty', 10, 1), 0, 11]])->allowed;
    }
    print_values($passed, $limit->peek()->remaining, $limit->attempt(0, 3)->reason, $limit->peek(0, 3)->reason);
}
echo "-- a subclass with its own prices --\n";
$priced = new class($storage, 'priced', 10, 1) extends TokenBucket {
    protected function _tokens_to_seconds($tokens)
    {
        return $tokens * 100;
    }
};
show($priced->attempt(3, 7));
show($priced->attempt(1, 7));
show($priced->attempt(1, 10));
echo "-- arguments --\n";
foreach ([-1, -0.5, NAN, INF] as $floor) {
    echo thrown(fn () => $bucket->attempt(1, $floor)), "\n";
}
echo thrown(fn () => $bucket->peek(-1, 1)), "\n";
echo thrown(fn () => TokenBucket::attemptAll([[$bucket, 1, -1], $bucket])), "\n";
echo thrown(fn () => TokenBucket::attemptEach([[$bucket, 1, NAN]])), "\n";
echo thrown(fn () => TokenBucket::attemptEach([[$bucket, 1, 'a']])), "\n";
echo thrown(fn () => TokenBucket::attemptEach([[$bucket, 1, 1, 1]])), "\n";
print_values($bucket->attempt(1e308, 1e308)->reason, $bucket->attempt(PHP_INT_MAX, PHP_INT_MAX)->reason, $bucket->peek()->remaining);
?>
--EXPECT--
-- less important calls stop at the floor --
denied below_floor remaining=6.0 capacity=10.0 retryAfter=0.5 resetAfter=2.0
allowed granted remaining=1.0 capacity=10.0 retryAfter=0.0 resetAfter=4.5
-- header fields are those of the tokens above the floor --
granted: "p";q=10;w=5 "p";r=7;t=4 none 10 7
granted: "p";q=4;w=5 "p";r=1;t=1 none 4 1
granted: "p";q=4;w=5 "p";r=0;t=1 none 4 0
below_floor: "p";q=4;w=5 "p";r=0;t=1 1 4 0
exceeds_capacity: "p";q=0;w=5 "p";r=0;t=2 none 0 0
exceeds_capacity: "p";q=4;w=5 "p";r=0;t=1 none 4 0
-- lists --
false 'low' 'exceeds_capacity'
true null 8.0
'exceeds_capacity' 0
['below_floor', 'granted', 'granted']
-- a floor above the capacity denies also a call for nothing on a bucket without a record --
0 2.0 'exceeds_capacity' 'exceeds_capacity'
0 2.0 'exceeds_capacity' 'exceeds_capacity'
-- a subclass with its own prices --
allowed granted remaining=10.0 capacity=10.0 retryAfter=0.0 resetAfter=300.0
denied below_floor remaining=10.0 capacity=10.0 retryAfter=100.0 resetAfter=300.0
denied exceeds_capacity remaining=10.0 capacity=10.0 retryAfter=INF resetAfter=300.0
-- arguments --
ValueError: TokenBucket::attempt(): Argument #2 ($floor) must be greater than or equal to 0
ValueError: TokenBucket::attempt(): Argument #2 ($floor) must be greater than or equal to 0
ValueError: TokenBucket::attempt(): Argument #2 ($floor) must be finite
ValueError: TokenBucket::attempt(): Argument #2 ($floor) must be finite
ValueError: TokenBucket::peek(): Argument #1 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) must be greater than or equal to 0
ValueError: TokenBucket::attemptEach(): Argument #1 ($buckets) must be finite
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must contain only TokenBucket objects, or lists of a TokenBucket object, a number of tokens and possibly a floor
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must contain only TokenBucket objects, or lists of a TokenBucket object, a number of tokens and possibly a floor
'exceeds_capacity' 'exceeds_capacity' 6.0

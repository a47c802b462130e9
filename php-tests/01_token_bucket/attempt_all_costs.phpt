--TEST--
attemptAll() takes a cost of its own from each bucket, and names the bucket that refused
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$requests = new TokenBucket($storage, 'requests', 10, 1);
$tokens = new TokenBucket($storage, 'tokens', 5000, 50);
echo "-- costs of their own, and the tokens of all others --\n";
$granted = TokenBucket::attemptAll(['requests' => $requests, 'tokens' => [$tokens, 3000]]);
show($granted);
print_values($granted->refusedBy);
show($tokens->peek());
echo "-- refused by a key --\n";
$refused = TokenBucket::attemptAll(['requests' => $requests, 'tokens' => [$tokens, 3000]]);
show($refused);
print_values($refused->refusedBy, $requests->peek()->remaining);
foreach (['', "a\xff\0", '7', -3, PHP_INT_MAX] as $key) {
    $refused = TokenBucket::attemptAll(['first' => $requests, $key => [$tokens, 2000.5]]);
    check($refused->refusedBy === array_key_last([$key => 0]), json_encode(bin2hex((string) $key)));
}
print_values(TokenBucket::attemptAll([$tokens, [$requests, 11]])->refusedBy);
echo "-- a bucket that is listed twice --\n";
print_values(TokenBucket::attemptAll([[$requests, 4], [$requests, 4.5]])->remaining);
print_values(TokenBucket::attemptAll([[$requests, 0.25], 'second' => [$requests, 0.5]])->refusedBy);
echo "-- several quotas of one identifier --\n";
$larger = new TokenBucket($storage, 'requests', 11, 1);
echo thrown(fn() => TokenBucket::attemptAll([$requests, $tokens, $larger])), "\n";
$same = new TokenBucket($storage, 'requests', 10.0, 1.0);
print_values(TokenBucket::attemptAll([[$requests, 0.25], [$same, 0.25]])->allowed);
$elsewhere = new TokenBucket(new TokenBucketStorageMemory, 'requests', 11, 1);
print_values(TokenBucket::attemptAll([[$elsewhere, 11], [$tokens, 1]])->allowed);
echo "-- invalid elements take nothing --\n";
$requests->reset();
$bad = [[$tokens], [$tokens, 1, 2, 3], [$tokens, 1, '2'], ['bucket' => $tokens, 'cost' => 1], [1, $tokens], [$tokens, '1'], [$tokens, null], []];
foreach ($bad as $element) {
    check(str_starts_with(thrown(fn() => TokenBucket::attemptAll([$requests, $element])), 'TypeError: '), json_encode($element));
}
echo thrown(fn() => TokenBucket::attemptAll([$requests, [$tokens]])), "\n";
echo thrown(fn() => TokenBucket::attemptAll([$requests, [$tokens, -1]])), "\n";
echo thrown(fn() => TokenBucket::attemptAll([$requests, [$tokens, NAN]])), "\n";
print_values($requests->peek()->remaining);
echo "-- references --\n";
$pair = [&$requests, 3];
print_values(TokenBucket::attemptAll([&$pair])->remaining);
echo "-- a thousand buckets --\n";
$many = [];
for ($i = 0; $i < 1000; $i++) {
    $many["bucket $i"] = [new TokenBucket($storage, "bucket $i", 1000, 1), $i];
}
print_values(TokenBucket::attemptAll($many)->remaining, TokenBucket::attemptAll($many)->refusedBy);
?>
--EXPECT--
-- costs of their own, and the tokens of all others --
allowed granted remaining=9.0 capacity=10.0 retryAfter=0.0 resetAfter=1.0
null
allowed granted remaining=2000.0 capacity=5000.0 retryAfter=0.0 resetAfter=60.0
-- refused by a key --
denied insufficient_tokens remaining=2000.0 capacity=5000.0 retryAfter=20.0 resetAfter=60.0
'tokens' 9.0
1
-- a bucket that is listed twice --
0.0
'second'
-- several quotas of one identifier --
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) must not contain buckets that have one storage and one identifier, but different limits
true
true
-- invalid elements take nothing --
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must contain only TokenBucket objects, or lists of a TokenBucket object, a number of tokens and possibly a floor
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) must be greater than or equal to 0
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) must be finite
10.0
-- references --
7.0
-- a thousand buckets --
1.0 'bucket 501'

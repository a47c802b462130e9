--TEST--
block() denies calls for a token until the block ends, and drain() leaves at most the given tokens
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 2);
echo "-- no token for 30 seconds, then one --\n";
show($bucket->block(30));
$storage->advance(29.999);
show($bucket->attempt());
$storage->advance(0.001);
show($bucket->peek(1.001));
show($bucket->attempt());
echo "-- tokens that are given back shorten a block by their time --\n";
$bucket->reset();
$bucket->consume(8);
$bucket->block(60);
$bucket->refund(8);
show($bucket->attempt());
show($bucket->settle(4, 0));
echo "-- an attemptAll() that is undone gives nothing back --\n";
$empty = new TokenBucket($storage, 'empty', 1, 1);
$empty->drain();
$bucket->reset();
show($bucket->block(60));
show(TokenBucket::attemptAll([$bucket, $empty]));
show($bucket->peek());
echo "-- no time at all --\n";
$bucket->reset();
show($bucket->block(0));
echo "-- drain --\n";
$bucket->reset();
show($bucket->drain(2.5));
echo "-- a subclass with its own prices --\n";
$priced = new class($storage, 'priced', 10, 1) extends TokenBucket {
    protected function _tokens_to_seconds($tokens)
    {
        return $tokens * 100;
    }
};
show($priced->block(500));
show($priced->attempt());
$priced->reset();
var_dump($priced->drain(2)->resetAfter);
echo "-- arguments --\n";
foreach ([-1, NAN, INF, 1_152_921_505, 1e300] as $seconds) {
    echo thrown(fn () => $priced->block($seconds)), "\n";
}
foreach ([-1, NAN, INF] as $tokens) {
    echo thrown(fn () => $priced->drain($tokens)), "\n";
}
var_dump($priced->peek()->resetAfter);
?>
--EXPECT--
-- no token for 30 seconds, then one --
allowed granted remaining=-59.0 capacity=10.0 retryAfter=0.0 resetAfter=34.5
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=0.001 resetAfter=4.501
denied insufficient_tokens remaining=1.0 capacity=10.0 retryAfter=0.000499999 resetAfter=4.5
allowed granted remaining=0.0 capacity=10.0 retryAfter=0.0 resetAfter=5.0
-- tokens that are given back shorten a block by their time --
denied insufficient_tokens remaining=-111.0 capacity=10.0 retryAfter=56.0 resetAfter=60.5
allowed granted remaining=-107.0 capacity=10.0 retryAfter=0.0 resetAfter=58.5
-- an attemptAll() that is undone gives nothing back --
allowed granted remaining=-119.0 capacity=10.0 retryAfter=0.0 resetAfter=64.5
denied insufficient_tokens remaining=-119.0 capacity=10.0 retryAfter=60.0 resetAfter=64.5
denied insufficient_tokens remaining=-119.0 capacity=10.0 retryAfter=60.0 resetAfter=64.5
-- no time at all --
allowed granted remaining=1.0 capacity=10.0 retryAfter=0.0 resetAfter=4.5
-- drain --
allowed granted remaining=2.0 capacity=10.0 retryAfter=0.0 resetAfter=3.75
-- a subclass with its own prices --
allowed granted remaining=-400.0 capacity=10.0 retryAfter=0.0 resetAfter=1400.0
denied insufficient_tokens remaining=-400.0 capacity=10.0 retryAfter=500.0 resetAfter=1400.0
float(800)
-- arguments --
ValueError: TokenBucket::block(): Argument #1 ($seconds) must be greater than or equal to 0
ValueError: TokenBucket::block(): Argument #1 ($seconds) must be finite
ValueError: TokenBucket::block(): Argument #1 ($seconds) must be finite
ValueError: TokenBucket::block(): Argument #1 ($seconds) must be less than 2^60 nanoseconds (36 years)
ValueError: TokenBucket::block(): Argument #1 ($seconds) must be less than 2^60 nanoseconds (36 years)
ValueError: TokenBucket::drain(): Argument #1 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::drain(): Argument #1 ($tokens) must be finite
ValueError: TokenBucket::drain(): Argument #1 ($tokens) must be finite
float(800)

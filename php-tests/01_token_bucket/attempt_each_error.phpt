--TEST--
attemptEach() throws on invalid arguments, and gives tokens back if a bucket throws
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
class Broken extends TokenBucket
{
    public function break()
    {
        $this->_bucket_capacity = -1;
        return $this;
    }
}
class Throwing extends ArrayStorage
{
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        throw new DomainException('no');
    }
}
$broken = (new Broken($storage, 'y', 10, 1))->break();
$shared = new TokenBucket(new TokenBucketStorageSharedMemory(bin2hex(random_bytes(8))), 'x', 10, 1e-6);
$throwing = new TokenBucket(new Throwing, 'x', 10, 1);
$calls = [
    fn() => TokenBucket::attemptEach([]),
    fn() => TokenBucket::attemptEach([$bucket, 'x']),
    fn() => TokenBucket::attemptEach([$bucket, [$bucket]]),
    fn() => TokenBucket::attemptEach([$bucket, [$bucket, '1']]),
    fn() => TokenBucket::attemptEach($bucket),
    fn() => TokenBucket::attemptEach(),
    fn() => TokenBucket::attemptEach([$bucket], 1),
    fn() => TokenBucket::attemptEach([$bucket, [$bucket, -1]]),
    fn() => TokenBucket::attemptEach([$bucket, [$bucket, NAN]]),
    fn() => TokenBucket::attemptEach([$bucket, $broken]),
    fn() => TokenBucket::attemptEach([[$bucket, 3], [$shared, 4], $throwing]),
];
foreach ($calls as $call) {
    echo thrown($call), "\n";
}
var_dump($bucket->peek()->remaining, $shared->peek()->remaining);
?>
--EXPECTF--
ValueError: TokenBucket::attemptEach(): Argument #1 ($buckets) must not be empty
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must contain only %s
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must contain only %s
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must contain only %s
TypeError: TokenBucket::attemptEach(): Argument #1 ($buckets) must be of type array, TokenBucket given
ArgumentCountError: TokenBucket::attemptEach() expects exactly 1 argument, 0 given
ArgumentCountError: TokenBucket::attemptEach() expects exactly 1 argument, 2 given
ValueError: TokenBucket::attemptEach(): Argument #1 ($buckets) must be greater than or equal to 0
ValueError: TokenBucket::attemptEach(): Argument #1 ($buckets) must be finite
ValueError: TokenBucket::$_bucket_capacity must be greater than 0
DomainException: no
float(10)
float(10)

--TEST--
attemptAll() throws on invalid arguments and takes nothing
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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
class Starved extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(0);
    }
}
$broken = (new Broken($storage, 'y', 10, 1))->break();
$calls = [
    fn() => TokenBucket::attemptAll([]),
    fn() => TokenBucket::attemptAll([$bucket, 'x']),
    fn() => TokenBucket::attemptAll([$bucket, null]),
    fn() => TokenBucket::attemptAll([$bucket, new stdClass]),
    fn() => TokenBucket::attemptAll([$bucket, $storage]),
    fn() => TokenBucket::attemptAll($bucket),
    fn() => TokenBucket::attemptAll(),
    fn() => TokenBucket::attemptAll([$bucket], 1, 2),
    fn() => TokenBucket::attemptAll([$bucket], -1),
    fn() => TokenBucket::attemptAll([$bucket], NAN),
    fn() => TokenBucket::attemptAll([$bucket], 'x'),
    fn() => TokenBucket::attemptAll([$bucket, $broken]),
    fn() => TokenBucket::attemptAll([$bucket, new Starved($storage, 'z', 10, 1)]),
];
foreach ($calls as $call) {
    echo thrown($call), "\n";
}
var_dump($bucket->peek()->remaining);
$reference = &$bucket;
var_dump(TokenBucket::attemptAll([&$reference])->remaining);
?>
--EXPECTF--
ValueError: TokenBucket::attemptAll(): Argument #1 ($buckets) %s empty
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must %s
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must %s
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must %s
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must %s
TypeError: TokenBucket::attemptAll(): Argument #1 ($buckets) must be of type array, TokenBucket given
ArgumentCountError: TokenBucket::attemptAll() expects at least 1 argument, 0 given
ArgumentCountError: TokenBucket::attemptAll() expects at most 2 arguments, 3 given
ValueError: TokenBucket::attemptAll(): Argument #2 ($tokens) must be greater than or equal to 0
ValueError: TokenBucket::attemptAll(): Argument #2 ($tokens) must be finite
TypeError: TokenBucket::attemptAll(): Argument #2 ($tokens) must be of type int|float, string given
ValueError: TokenBucket::$_bucket_capacity must be greater than 0
LogicException: TokenBucket::attemptAll() does not support a class that overrides _bootstrap()
float(10)
float(9)

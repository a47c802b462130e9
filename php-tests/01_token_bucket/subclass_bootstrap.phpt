--TEST--
A subclass that overrides _bootstrap() sets the tokens of a new bucket
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class HalfFull extends TokenBucket
{
    public $asked = [];

    protected function _bootstrap($initialTokens)
    {
        $this->asked[] = $initialTokens;
        parent::_bootstrap($initialTokens - $this->_bucket_capacity / 2);
    }
}
class Silent extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
    }
}
class Failing extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        throw new DomainException('no bucket today');
    }
}
class Greedy extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(1000);
    }
}
alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    // The rate is so low that no token is refilled during the test.
    $bucket = new HalfFull($storage, 'half', 10, 0.001);
    print_values($bucket->consume(1), (float) $bucket->asked[0]);
    print_values($bucket->peek()->remaining, $bucket->consume(5), $bucket->consume(4), $bucket->consume(1));
    print_values(count($bucket->asked));

    echo "without a proposal the bucket starts full\n";
    $bucket = new Silent($storage, 'silent', 10, 0.001);
    print_values($bucket->consume(4), $bucket->peek()->remaining);

    echo "an exception takes nothing\n";
    $bucket = new Failing($storage, 'failing', 10, 0.001);
    try {
        $bucket->consume(4);
    } catch (DomainException $e) {
        echo $e->getMessage(), "\n";
    }
    print_values((new TokenBucket($storage, 'failing', 10, 0.001))->peek()->remaining);

    echo "a proposal above the capacity: the tokens are still charged\n";
    $bucket = new Greedy($storage, 'greedy', 10, 0.001);
    print_values($bucket->consume(4), $bucket->peek()->remaining);
});
?>
--EXPECT--
true 9.0
4.0 false true false
1
without a proposal the bucket starts full
true 6.0
an exception takes nothing
no bucket today
10.0
a proposal above the capacity: the tokens are still charged
true 6.0

--TEST--
An overriding _bootstrap() may replace the storage of its bucket
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

class Replacing extends TokenBucket
{
    public $replaced = false;

    protected function _bootstrap($initialTokens)
    {
        if (!$this->replaced) {
            $this->replaced = true;
            parent::__construct(new TokenBucketStorageMemory, 'other', 10, 1);
            scribble();
        }
        parent::_bootstrap($initialTokens);
    }
}
foreach (['consume', 'attempt'] as $method) {
    $bucket = new Replacing(new TokenBucketStorageMemory, 'x', 10, 1);
    $bucket->$method(2);
    var_dump($bucket->peek()->remaining >= 8);
}
?>
--EXPECT--
bool(true)
bool(true)

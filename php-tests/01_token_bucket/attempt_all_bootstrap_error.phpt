--TEST--
attemptAll() rejects overridden _bootstrap() methods, and storages reject a second __construct()
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
class Starved extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(0);
    }
}
echo thrown(fn() => TokenBucket::attemptAll([new Starved($storage, 'starved', 10, 1)])), "\n";
$shared = new TokenBucketStorageSharedMemory('a');
echo thrown(fn() => $shared->__construct('b')), "\n";
?>
--EXPECT--
LogicException: TokenBucket::attemptAll() does not support a class that overrides _bootstrap()
Error: TokenBucketStorageSharedMemory has already been constructed

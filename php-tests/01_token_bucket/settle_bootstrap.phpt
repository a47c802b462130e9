--TEST--
settle() passes the tokens that it takes to an overriding _bootstrap()
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Half extends TokenBucket
{
    protected function _bootstrap($tokens)
    {
        echo "_bootstrap($tokens)\n";
        parent::_bootstrap($tokens - 5);
    }
}
$storage = new TokenBucketStorageMemory;
foreach ([[0, 20], [8, 20], [2.5, 3]] as $i => [$reserved, $actual]) {
    show((new Half($storage, "charge $i", 10, 1))->charge($actual - $reserved));
    show((new Half($storage, "settle $i", 10, 1))->settle($reserved, $actual));
}
?>
--EXPECT--
_bootstrap(-10)
allowed granted remaining=-15.0 capacity=10.0 retryAfter=0.0 resetAfter=25.0
_bootstrap(-10)
allowed granted remaining=-15.0 capacity=10.0 retryAfter=0.0 resetAfter=25.0
_bootstrap(-2)
allowed granted remaining=-7.0 capacity=10.0 retryAfter=0.0 resetAfter=17.0
_bootstrap(-2)
allowed granted remaining=-7.0 capacity=10.0 retryAfter=0.0 resetAfter=17.0
_bootstrap(9.5)
allowed granted remaining=4.0 capacity=10.0 retryAfter=0.0 resetAfter=5.5
_bootstrap(9.5)
allowed granted remaining=4.0 capacity=10.0 retryAfter=0.0 resetAfter=5.5

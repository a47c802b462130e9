--TEST--
An overriding _tokens_to_seconds() may free another bucket of attemptAll()
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

class Freeing extends TokenBucket
{
    public $free;

    protected function _tokens_to_seconds($tokens)
    {
        if ($this->free) {
            ($this->free)();
            $this->free = null;
        }
        return parent::_tokens_to_seconds($tokens);
    }
}
$victim = new TokenBucket(new TokenBucketStorageMemory, str_repeat('victim', 20), 10, 1);
$freeing = new Freeing(new TokenBucketStorageMemory, 'x', 10, 1);
$freeing->free = function () use (&$victim, &$scribbled) {
    $victim = null;
    $scribbled = scribble();
};
$buckets = [&$victim, $freeing];
var_dump(TokenBucket::attemptAll($buckets, 2)->allowed, $buckets[0]);
?>
--EXPECT--
bool(true)
NULL

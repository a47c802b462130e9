--TEST--
attemptAll() keeps a bucket alive while PHP code frees it through a reference
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Emptying extends TokenBucket
{
    public static ?Closure $empty = null;

    protected function _tokens_to_seconds($tokens)
    {
        (self::$empty)();
        return parent::_tokens_to_seconds($tokens);
    }
}
$storage = new TokenBucketStorageMemory;
$first = new Emptying($storage, 'first', 10, 1);
$second = new TokenBucket($storage, 'second', 10, 1);
Emptying::$empty = function () use (&$second) {
    $second = null;
};
var_dump(TokenBucket::attemptAll([$first, &$second])->allowed, $second);

Emptying::$empty = null;
?>
--EXPECT--
bool(true)
NULL

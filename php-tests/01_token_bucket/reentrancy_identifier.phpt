--TEST--
__toString() of an identifier may call its bucket, replace its storage, or throw
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

fold_equal_lines();
class Identifier
{
    public $then;

    public function __toString(): string
    {
        [$then, $this->then] = [$this->then, null];
        if ($then) {
            $then();
        }
        return 'identifier';
    }
}
class Named extends TokenBucket
{
    public function name($identifier)
    {
        $this->_identifier = $identifier;
    }
}
$bucket = new Named(new TokenBucketStorageMemory, 'x', 10, 1);
$bucket->name($identifier = new Identifier);
$identifier->then = fn() => $bucket->consume(3);
var_dump($bucket->consume(2), $bucket->peek()->remaining);
foreach (['consume', 'attempt', 'peek', 'refund', 'reset'] as $method) {
    $bucket = new Named(new TokenBucketStorageMemory, 'x', 10, 1);
    $bucket->name($identifier = new Identifier);
    $identifier->then = function () use ($bucket) {
        $bucket->__construct(new TokenBucketStorageMemory, 'y', 5, 1);
        scribble();
    };
    $bucket->$method();
    var_dump($bucket->peek()->allowed);
}
$bucket->name($identifier = new Identifier);
$identifier->then = fn() => throw new DomainException('nameless');
echo thrown(fn() => $bucket->consume()), "\n";
var_dump($bucket->consume());
?>
--EXPECT--
bool(true)
float(5)
bool(true) (5 times)
DomainException: nameless
bool(true)

--TEST--
An exception of a userland storage reaches the caller
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Failing extends GrantingStorage
{
    public $in = 'consume';

    public function bootstrap($identifier, $microtime)
    {
        if ($this->in === 'bootstrap') {
            throw new DomainException("bootstrap of $identifier");
        }
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        if ($this->in === 'consume') {
            throw new DomainException("consume of $identifier");
        }
        return $bootstrap_closure();
    }
}
$storage = new Failing;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo thrown(fn() => $bucket->consume()), "\n";
echo thrown(fn() => $bucket->attempt()), "\n";
$storage->in = 'bootstrap';
echo thrown(fn() => $bucket->consume()), "\n";
echo thrown(fn() => $bucket->attempt()), "\n";
$storage->in = '';
var_dump($bucket->consume());

echo "-- the trace contains the bucket's method --\n";
$storage->in = 'consume';
try {
    $bucket->consume();
} catch (DomainException $e) {
    foreach ($e->getTrace() as $frame) {
        echo $frame['class'] ?? '', $frame['type'] ?? '', $frame['function'], "\n";
    }
}

echo "-- a closure called after its bucket was released --\n";
class Keeper extends Failing
{
    public $closure;

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->closure = $bootstrap_closure;
        return true;
    }
}
$keeper = new Keeper;
var_dump((new TokenBucket($keeper, 'x', 10, 1))->consume());
gc_collect_cycles();
var_dump(($keeper->closure)());
?>
--EXPECT--
DomainException: consume of x
DomainException: consume of x
DomainException: bootstrap of x
DomainException: bootstrap of x
bool(true)
-- the trace contains the bucket's method --
Failing->consume
TokenBucket->consume
-- a closure called after its bucket was released --
bool(true)
bool(true)

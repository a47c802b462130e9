--TEST--
PHP code within a call may replace or free the objects of the call
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

fold_equal_lines();
echo "-- An overriding _tokens_to_seconds() may free another bucket of attemptAll() --\n";
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

echo "-- An overriding _bootstrap() may replace the storage of its bucket --\n";
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

echo "-- __toString() of an identifier may call its bucket, replace its storage, or throw --\n";
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

echo "-- A userland storage may replace itself in its bucket during a call --\n";
class Leaving extends ArrayStorage
{
    public $bucket;
    public $in;

    private function leave(string $method): void
    {
        if ($this->in === $method && $this->bucket) {
            [$bucket, $this->bucket] = [$this->bucket, null];
            $bucket->__construct(new TokenBucketStorageMemory, 'elsewhere', 5, 1);
            scribble();
        }
    }

    public function bootstrap($identifier, $microtime)
    {
        $this->leave('bootstrap');
        parent::bootstrap($identifier, $microtime);
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->leave('consume');
        return parent::consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
    }
}
foreach (['bootstrap', 'consume'] as $in) {
    foreach (['consume', 'attempt'] as $method) {
        $bucket = new TokenBucket($storage = new Leaving, str_repeat('x', 30), 10, 1);
        [$storage->bucket, $storage->in] = [$bucket, $in];
        unset($storage);
        $bucket->$method();
        var_dump($bucket->peek()->capacity);
    }
}

echo "-- A storage stays usable in shutdown functions after exit inside its closure --\n";
$storage = new TokenBucketStorageMemory;
register_shutdown_function(function () use ($storage) {
    $storage->bootstrap('fatal', microtime(true) - 5.5);
    var_dump((new TokenBucket($storage, 'fatal', 10, 1))->consume(5));
});
$storage->consume('fatal', 1, 10, function () {
    exit("exit\n");
});
?>
--EXPECT--
-- An overriding _tokens_to_seconds() may free another bucket of attemptAll() --
bool(true)
NULL
-- An overriding _bootstrap() may replace the storage of its bucket --
bool(true) (2 times)
-- __toString() of an identifier may call its bucket, replace its storage, or throw --
bool(true)
float(5)
bool(true) (5 times)
DomainException: nameless
bool(true)
-- A userland storage may replace itself in its bucket during a call --
float(5) (4 times)
-- A storage stays usable in shutdown functions after exit inside its closure --
exit
bool(true)

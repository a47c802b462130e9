--TEST--
Userland code that a call runs may replace and free anything: no crash (valgrind sees more)
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../userland_bucket.inc.php';

/** Takes the memory of what has just been freed. */
function scribble(): array
{
    $list = [];
    for ($i = 0; $i < 50; $i++) {
        $list[] = new TokenBucketStorageMemory;
        $list[] = new TokenBucket(new TokenBucketStorageMemory, str_repeat('scribble', $i), 3, 1);
    }
    return $list;
}

echo "-- an overriding _bootstrap() replaces the storage --\n";
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

echo "-- an overriding _tokens_to_seconds() frees a bucket of attemptAll() --\n";
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

echo "-- __toString() of an identifier asks the bucket, and replaces its storage --\n";
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

echo "-- a userland storage replaces itself --\n";
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

echo "-- exit inside a closure: the storage is usable in shutdown functions --\n";
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
-- an overriding _bootstrap() replaces the storage --
bool(true)
bool(true)
-- an overriding _tokens_to_seconds() frees a bucket of attemptAll() --
bool(true)
NULL
-- __toString() of an identifier asks the bucket, and replaces its storage --
bool(true)
float(5)
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
DomainException: nameless
bool(true)
-- a userland storage replaces itself --
float(5)
float(5)
float(5)
float(5)
-- exit inside a closure: the storage is usable in shutdown functions --
exit
bool(true)

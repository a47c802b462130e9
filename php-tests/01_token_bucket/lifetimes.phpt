--TEST--
What userland code frees while a call runs is held until the call is done (valgrind sees more)
--FILE--
<?php
require __DIR__ . '/../check.inc.php';

echo "-- attemptAll(): an element behind a reference is emptied --\n";
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

class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}

echo "-- bootstrap(): a userland storage gives its bucket another --\n";
class Replacing implements TokenBucketStorage
{
    public ?WeakReference $bucket = null;
    public string $used = '';

    public function prepare() {}

    public function bootstrap($identifier, $microtime)
    {
        $this->bucket?->get()->__construct(new self, 'x', 10, 1);
        $this->used .= str_repeat('still here ', 100);
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        return $bootstrap_closure();
    }
}
$replacing = new Replacing;
$bucket = new Starting($replacing, 'x', 10, 1);
$replacing->bucket = WeakReference::create($bucket);
unset($replacing);
echo $bucket->start(), "\n";

echo "-- __toString() of an identifier does --\n";
class Restless
{
    public ?WeakReference $bucket = null;
    public int $left = 0;

    public function __toString(): string
    {
        if ($this->bucket && --$this->left === 0) {
            $this->bucket->get()->__construct(new TokenBucketStorageMemory, 'x', 10, 1);
        }
        return 'x';
    }
}
foreach ([1, 2, 3, 4] as $left) {
    $restless = new Restless;
    $bucket = new Starting(new TokenBucketStorageMemory, $restless, 10, 1);
    [$restless->bucket, $restless->left] = [WeakReference::create($bucket), $left];
    echo $bucket->start(), ' ', json_encode($bucket->consume(1)), "\n";
}

echo "-- a WeakMap's value reaches the storage that dies --\n";
class Late
{
    public WeakReference $storage;

    public function __destruct()
    {
        $storage = $this->storage->get();
        echo $storage === null ? 'gone' : json_encode((new TokenBucket($storage, 'late', 1, 1))->consume()), "\n";
    }
}
$storage = new TokenBucketStorageMemory;
for ($i = 0; $i < 50; $i++) {
    (new TokenBucket($storage, "bucket $i", 10, 1))->consume();
}
$map = new WeakMap;
$map[$storage] = new Late;
$map[$storage]->storage = WeakReference::create($storage);
unset($storage, $first, $second, $bucket);
Emptying::$empty = null;
echo "done\n";

echo "-- a class's own price is what a refund gives back --\n";
class Cheap extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        return parent::_tokens_to_seconds($tokens) / ($tokens < 10 ? 10 : 1);
    }
}
$storage = new TokenBucketStorageMemory;
(new TokenBucket($storage, 'cheap', 10, 1))->consume(9);
$cheap = new Cheap($storage, 'cheap', 10, 1);
for ($i = 0; $i < 8; $i++) {
    $cheap->consume();
    $cheap->refund();
}
var_dump((new TokenBucket($storage, 'cheap', 10, 1))->peek()->remaining);

echo "-- refused --\n";
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
--EXPECTF--
-- attemptAll(): an element behind a reference is emptied --
bool(true)
NULL
-- bootstrap(): a userland storage gives its bucket another --
started
-- __toString() of an identifier does --
started true
started true
started true
started true
-- a WeakMap's value reaches the storage that dies --
%s
done
-- a class's own price is what a refund gives back --
float(1)
-- refused --
LogicException: TokenBucket::attemptAll() cannot ask a class that overrides _bootstrap()
Error: TokenBucketStorageSharedMemory is constructed already

--TEST--
Objects live as long as a call uses them
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

// The tests find more errors under valgrind.
class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}

echo "-- __toString() of an identifier may give its bucket another storage --\n";
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

echo "-- A storage lives until its bootstrap() returns, even if its bucket gets another storage --\n";
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

echo "-- A WeakMap value may use its key, a storage, while that storage is being freed --\n";
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
unset($storage);
?>
--EXPECTF--
-- __toString() of an identifier may give its bucket another storage --
started true
started true
started true
started true
-- A storage lives until its bootstrap() returns, even if its bucket gets another storage --
started
-- A WeakMap value may use its key, a storage, while that storage is being freed --
%s

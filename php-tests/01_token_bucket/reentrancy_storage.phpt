--TEST--
A userland storage may replace itself in its bucket during a call
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

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
?>
--EXPECT--
float(5)
float(5)
float(5)
float(5)

--TEST--
A storage lives until its bootstrap() returns, even if its bucket gets another storage
--FILE--
<?php
require __DIR__ . '/lifetimes.inc.php';

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
?>
--EXPECT--
started

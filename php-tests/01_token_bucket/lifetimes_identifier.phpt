--TEST--
__toString() of an identifier may give its bucket another storage
--FILE--
<?php
require __DIR__ . '/lifetimes.inc.php';

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
?>
--EXPECT--
started true
started true
started true
started true

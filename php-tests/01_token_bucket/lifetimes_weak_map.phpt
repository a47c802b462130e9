--TEST--
A WeakMap value may use its key, a storage, while that storage is being freed
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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
echo "done\n";
?>
--EXPECTF--
%s
done

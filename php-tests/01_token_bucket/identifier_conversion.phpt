--TEST--
A call charges the current identifier, also after __toString() has changed the property
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Named extends TokenBucket
{
    public function name($identifier)
    {
        $this->_identifier = $identifier;
    }
}
class Lazy
{
    public function __construct(private Named $bucket, private int $id)
    {
    }

    public function __toString(): string
    {
        $this->bucket->name('user:' . $this->id);
        return 'user:' . $this->id;
    }
}
$storage = new TokenBucketStorageSharedMemory;
$bucket = new Named($storage, '', 1000, 0.001);
$bucket->name(new Lazy($bucket, 1111));
$bucket->consume();
// PHP may store a new name in the memory that held the previous name.
foreach (range(2001, 2100) as $id) {
    $bucket->name(null);
    $bucket->name('user:' . $id);
    $bucket->consume();
}
$left = fn(string $name): float => (new TokenBucket($storage, $name, 1000, 0.001))->peek()->remaining;
print_values($left('user:1111'));
print_values(array_unique(array_map(fn(int $id) => $left("user:$id"), range(2001, 2100))));

echo "-- another name than the result --\n";
$other = new class($bucket) {
    public function __construct(private Named $bucket)
    {
    }

    public function __toString(): string
    {
        $this->bucket->name('new');
        return 'old';
    }
};
$bucket->name($other);
$bucket->consume();
$bucket->consume();
print_values($left('old'), $left('new'));
?>
--EXPECT--
999.0
[999.0]
-- another name than the result --
999.0 999.0

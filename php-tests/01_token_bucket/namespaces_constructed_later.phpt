--TEST--
A bucket uses the namespace of a storage whose constructor ends after the bucket was used
--FILE--
<?php
/** A namespace whose conversion to a string runs code on the storage under construction. */
final class Reaching
{
    public function __construct(private string $namespace, private Closure $use)
    {
    }

    public function __toString(): string
    {
        $frames = array_filter(debug_backtrace(), fn ($frame) => $frame['function'] === '__construct');
        ($this->use)(current($frames)['object']);
        return $this->namespace;
    }
}
$name = bin2hex(random_bytes(8));
$bucket = null;
$storage = new TokenBucketStorageSharedMemory(new Reaching($name, function ($unmade) use ($name, &$bucket) {
    $bucket = new TokenBucket($unmade, $name, 10, 0.001);
    // The bucket has no namespace yet, because the constructor has not set it.
    var_dump($bucket->consume(3));
}));
var_dump($bucket->consume(4), $bucket->attempt(1)->remaining);

$left = fn (string $namespace) => (new TokenBucket(new TokenBucketStorageSharedMemory($namespace), $name, 10, 0.001))->peek()->remaining;
var_dump($left(''), $left($name));
?>
--EXPECT--
bool(true)
bool(true)
float(5)
float(7)
float(5)

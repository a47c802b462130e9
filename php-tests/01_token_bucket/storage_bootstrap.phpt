--TEST--
bootstrap() accepts any instant, and _bootstrap() of a bucket sets its first tokens
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $bucket = fn($id) => new TokenBucket($storage, $id, 10, 0.001);
    // The fake clock starts at the instant 0.
    $storage->bootstrap('epoch', $storage instanceof TokenBucketStorageMemory ? -1e6 : 0.0);
    $storage->bootstrap('before', -1e18);
    $storage->bootstrap('after', 1e18);
    print_values($bucket('epoch')->peek()->remaining, $bucket('before')->peek()->remaining, $bucket('after')->peek(0)->allowed);
    $bucket('after')->reset();
    print_values($bucket('after')->peek()->remaining);
});

echo "-- _bootstrap() of a bucket --\n";
class Starter extends TokenBucket
{
    public function start($tokens)
    {
        return $this->_bootstrap($tokens);
    }
}
$storage = new TokenBucketStorageMemory;
$starter = new Starter($storage, 'x', 10, 3);
print_values($starter->start(4), $starter->peek()->remaining);
$starter->start(9);
print_values($starter->peek()->remaining, $starter->consume(4), $starter->consume(1));
for ($i = 0; $i <= 10; $i++) {
    $starter = new Starter($storage, "x $i", 10, 3);
    $starter->start($i);
    echo $starter->peek()->remaining, ' ';
}
echo "\n";
?>
--EXPECT--
10.0 10.0 false
10.0
-- _bootstrap() of a bucket --
null 4.0
4.0 true false
0 1 2 3 4 5 6 7 8 9 10

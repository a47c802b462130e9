--TEST--
bootstrap() creates a record and never overwrites a record
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $bucket = fn($id) => new TokenBucket($storage, $id, 10, 0.001);
    print_values($storage->bootstrap('x', microtime(true) - 2500), $bucket('x')->peek()->remaining);
    $storage->bootstrap('x', microtime(true) - 9500);
    print_values($bucket('x')->peek()->remaining, $bucket('x')->consume(2), $bucket('x')->consume(1));
    $storage->bootstrap('x', 0);
    print_values($bucket('x')->consume(1));
    echo "a time in the future is a debt\n";
    $storage->bootstrap('debt', microtime(true) + 1500);
    $decision = $bucket('debt')->peek(0);
    print_values($decision->allowed, $decision->retryAfter > 1490 && $decision->retryAfter <= 1500);
    echo "a distant past makes a full bucket, a distant future a debt\n";
    // The fake clock starts at the instant 0.
    $storage->bootstrap('epoch', $storage instanceof TokenBucketStorageMemory ? -1e6 : 0.0);
    $storage->bootstrap('before', -1e18);
    $storage->bootstrap('after', 1e18);
    print_values($bucket('epoch')->peek()->remaining, $bucket('before')->peek()->remaining, $bucket('after')->peek(0)->allowed);
    echo "numeric strings, as from a database\n";
    $storage->bootstrap('string', (string) (microtime(true) - 4500));
    print_values($bucket('string')->peek()->remaining);
    echo "reset() fills the buckets\n";
    foreach (['x', 'debt', 'after'] as $id) {
        $bucket($id)->reset();
        print_values($bucket($id)->peek()->remaining);
    }
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
null 2.0
2.0 true false
false
a time in the future is a debt
false true
a distant past makes a full bucket, a distant future a debt
10.0 10.0 false
numeric strings, as from a database
4.0
reset() fills the buckets
10.0 (3 times)
-- _bootstrap() of a bucket --
null 4.0
4.0 true false
0 1 2 3 4 5 6 7 8 9 10

--TEST--
A clone shares the bucket until its identifier is changed
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Named extends TokenBucket
{
    public $extra = [];

    public function named($identifier)
    {
        $clone = clone $this;
        $clone->_identifier = $identifier;
        return $clone;
    }
}
$storage = new TokenBucketStorageMemory;
$bucket = new Named($storage, 'x', 10, 1);
$bucket->extra[] = 'before';
$clone = clone $bucket;
$clone->extra[] = 'after';
print_values(get_class($clone), $bucket->consume(3), $clone->consume(4), $bucket->peek()->remaining, $clone->peek()->remaining);
echo json_encode([$bucket->extra, $clone->extra]), "\n";
$other = $bucket->named('y');
print_values($other->consume(10), $bucket->peek()->remaining);
unset($bucket, $storage);
print_values($clone->consume(3), $clone->consume(1));
?>
--EXPECT--
'Named' true true 3.0 3.0
[["before"],["before","after"]]
true 3.0
true false

--TEST--
A clone shares the bucket until its identifier is changed
--FILE--
<?php
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
var_dump(get_class($clone), $bucket->consume(3), $clone->consume(4), $bucket->peek()->remaining, $clone->peek()->remaining);
echo json_encode([$bucket->extra, $clone->extra]), "\n";
$other = $bucket->named('y');
var_dump($other->consume(10), $bucket->peek()->remaining);
unset($bucket, $storage);
var_dump($clone->consume(3), $clone->consume(1));
?>
--EXPECT--
string(5) "Named"
bool(true)
bool(true)
float(3)
float(3)
[["before"],["before","after"]]
bool(true)
float(3)
bool(true)
bool(false)

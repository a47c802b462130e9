--TEST--
A subclass may override consume() without types, as with the userland class
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Logged extends TokenBucket
{
    public $log = [];

    public function consume($token_count = 1)
    {
        $granted = parent::consume($token_count);
        $this->log[] = [$token_count, $granted];
        return $granted ? 'yes' : 'no';
    }
}
$bucket = new Logged(new TokenBucketStorageMemory, 'x', 3, 1);
print_values($bucket->consume(2), $bucket->consume(2), $bucket->consume());
echo json_encode($bucket->log), "\n";

class Optional extends TokenBucket
{
    public function consume($token_count = 2, $more = null)
    {
        return parent::consume($token_count);
    }
}
$bucket = new Optional(new TokenBucketStorageMemory, 'x', 3, 1);
print_values($bucket->consume(), $bucket->consume());
?>
--EXPECT--
'yes' 'no' 'yes'
[[2,true],[2,false],[1,true]]
true false

--TEST--
refund() gives back the cost that the bucket's class charges
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';

class Cheap extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        return parent::_tokens_to_seconds($tokens) / ($tokens < 10 ? 10 : 1);
    }
}
$storage = new TokenBucketStorageMemory;
(new TokenBucket($storage, 'cheap', 10, 1))->consume(9);
$cheap = new Cheap($storage, 'cheap', 10, 1);
for ($i = 0; $i < 8; $i++) {
    $cheap->consume();
    $cheap->refund();
}
var_dump((new TokenBucket($storage, 'cheap', 10, 1))->peek()->remaining);
?>
--EXPECT--
float(1)

--TEST--
refund() gives back the cost that the bucket's class charges
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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

echo "-- more than the capacity --\n";
class Same extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        return parent::_tokens_to_seconds($tokens);
    }
}
class Slow extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        return 2 * parent::_tokens_to_seconds($tokens);
    }
}
foreach (['TokenBucket', 'Same', 'Slow'] as $class) {
    $bucket = new $class($storage, $class, 10, 1);
    $bucket->charge(20);
    echo $class, ': ', $bucket->peek()->remaining, ' after ', $bucket->peek()->resetAfter, " s\n";
    $bucket->refund(20);
    echo $bucket->peek(10)->allowed ? 'full' : 'not full', "\n";
    $bucket->settle(0, 20);
    $bucket->settle(20, 10);
    $bucket->refund(10);
    echo $bucket->peek(10)->allowed ? 'full' : 'not full', "\n";
}
?>
--EXPECT--
float(1)
-- more than the capacity --
TokenBucket: -10 after 20 s
full
full
Same: -10 after 20 s
full
full
Slow: -20 after 40 s
full
full

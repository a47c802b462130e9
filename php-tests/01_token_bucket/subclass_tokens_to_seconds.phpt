--TEST--
A subclass that overrides _tokens_to_seconds() sets the cost of tokens
--FILE--
<?php
class Surcharged extends TokenBucket
{
    public $calls = 0;

    protected function _tokens_to_seconds($tokens)
    {
        $this->calls++;
        // Adds half a token to every call that takes less than the capacity.
        return parent::_tokens_to_seconds($tokens == $this->_bucket_capacity ? $tokens : $tokens + 0.5);
    }
}
$storage = new TokenBucketStorageMemory;
$bucket = new Surcharged($storage, 'x', 10, 1);
$granted = 0;
while ($bucket->consume()) {
    $granted++;
}
var_dump($granted, $bucket->calls > 0);
// Each call costs 1.5 tokens, so ten tokens grant six calls, and one token is left.
var_dump((new TokenBucket($storage, 'x', 10, 1))->peek()->remaining);

echo "-- attempt() asks it too --\n";
$bucket = new Surcharged($storage, 'y', 10, 1);
$granted = 0;
while ($bucket->attempt()->allowed) {
    $granted++;
}
var_dump($granted);

echo "-- what it throws arrives, and nothing is taken --\n";
class Broken extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        throw new DomainException('no price');
    }
}
try {
    (new Broken($storage, 'z', 10, 1))->consume();
} catch (DomainException $e) {
    echo $e->getMessage(), "\n";
}
var_dump((new TokenBucket($storage, 'z', 10, 1))->peek()->remaining);
?>
--EXPECT--
int(6)
bool(true)
float(1)
-- attempt() asks it too --
int(6)
-- what it throws arrives, and nothing is taken --
no price
float(10)

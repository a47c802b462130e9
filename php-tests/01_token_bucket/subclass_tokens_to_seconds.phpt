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
// Each call takes 1.5 tokens. So ten tokens are enough for six calls and leave one token.
var_dump((new TokenBucket($storage, 'x', 10, 1))->peek()->remaining);

echo "-- attempt() also calls the overriding method --\n";
$bucket = new Surcharged($storage, 'y', 10, 1);
$granted = 0;
while ($bucket->attempt()->allowed) {
    $granted++;
}
var_dump($granted);

echo "-- its exception reaches the caller, and nothing is taken --\n";
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
-- attempt() also calls the overriding method --
int(6)
-- its exception reaches the caller, and nothing is taken --
no price
float(10)

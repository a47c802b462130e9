--TEST--
Subclasses read the protected members of the userland class
--FILE--
<?php
class Sub extends TokenBucket
{
    public $extra = 'mine';
    private $secret = [1, 2];

    public function members()
    {
        return [$this->_identifier, $this->_bucket_capacity, $this->_tokens_per_second];
    }

    public function conversions()
    {
        return [
            $this->_tokens_to_seconds(5),
            $this->_tokens_to_seconds(0.5),
            $this->_seconds_to_tokens(1.75),
            $this->_seconds_to_tokens(3),
        ];
    }

    public function more()
    {
        $this->secret[] = 3;
        $this->dynamic = 'later';
        return [$this->extra, $this->secret, $this->dynamic];
    }

    public function storage()
    {
        return isset($this->_storage);
    }
}

$sub = new Sub(new TokenBucketStorageMemory, 'x', 10, 2.5);
var_dump($sub->members() == ['x', 10, 2.5]);
foreach ($sub->conversions() as $value) {
    var_dump((float) $value);
}
echo json_encode(@$sub->more()), "\n";
var_dump($sub->storage());
var_dump($sub->consume(), $sub instanceof TokenBucket);
try {
    $sub->_identifier;
} catch (Error $e) {
    echo $e->getMessage(), "\n";
}
?>
--EXPECT--
bool(true)
float(2)
float(0.2)
float(4.375)
float(7.5)
["mine",[1,2,3],"later"]
bool(false)
bool(true)
bool(true)
Cannot access protected property Sub::$_identifier

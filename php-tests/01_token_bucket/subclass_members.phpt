--TEST--
Subclasses read the protected members of the userland class
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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
print_values($sub->members() == ['x', 10, 2.5]);
foreach ($sub->conversions() as $value) {
    print_values((float) $value);
}
echo json_encode(@$sub->more()), "\n";
print_values($sub->storage(), $sub->consume(), $sub instanceof TokenBucket);
try {
    $sub->_identifier;
} catch (Error $e) {
    echo $e->getMessage(), "\n";
}
?>
--EXPECT--
true
2.0
0.2
4.375
7.5
["mine",[1,2,3],"later"]
false true true
Cannot access protected property Sub::$_identifier

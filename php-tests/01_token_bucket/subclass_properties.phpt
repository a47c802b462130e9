--TEST--
A subclass changes the protected properties, and the next call uses the new values
--FILE--
<?php
class Changing extends TokenBucket
{
    public function set($name, $value)
    {
        $this->$name = $value;
        return $this;
    }

    public function append($suffix)
    {
        $this->_identifier .= $suffix;
        return $this;
    }

    public function &reference($name)
    {
        return $this->$name;
    }

    public function drop($name)
    {
        unset($this->$name);
    }
}
$storage = new TokenBucketStorageMemory;
$new = fn($id = 'x') => new Changing($storage, $id, 10, 1);
$left = fn($id, $capacity = 10) => (new TokenBucket($storage, $id, $capacity, 1))->peek()->remaining;

echo "-- identifier --\n";
$bucket = $new();
$bucket->consume(1);
var_dump($bucket->set('_identifier', 'y')->consume(2), $left('x'), $left('y'));
var_dump($bucket->append('z')->consume(3), $left('y'), $left('yz'));
for ($i = 0; $i < 100; $i++) {
    $bucket->append('.')->consume(4);
}
var_dump($left('yz'), $left('yz.'), $left('yz' . str_repeat('.', 100)));

echo "-- capacity --\n";
$bucket = $new('capacity');
var_dump($bucket->consume(11), $bucket->set('_bucket_capacity', 20)->consume(11), $bucket->peek()->capacity);
var_dump($bucket->set('_bucket_capacity', 5)->consume(6));

echo "-- rate --\n";
$bucket = $new('rate');
$bucket->consume(10);
$storage->advance(1);
var_dump($bucket->set('_tokens_per_second', 0.5)->consume(1), $bucket->set('_tokens_per_second', 2.0)->consume(1));

echo "-- by reference --\n";
$bucket = $new('reference');
$identifier = &$bucket->reference('_identifier');
$bucket->consume(1);
$identifier = 'by reference';
$bucket->consume(2);
$identifier .= '!';
$bucket->consume(3);
var_dump($left('reference'), $left('by reference'), $left('by reference!'));
$capacity = &$bucket->reference('_bucket_capacity');
$capacity = 3;
var_dump($bucket->consume(4));
$rate = &$bucket->reference('_tokens_per_second');
$rate = 1000000;
var_dump($bucket->consume(3));
$storage->advance(0.00001);
var_dump($bucket->consume(3));

echo "-- other types are converted as in the constructor --\n";
$bucket = $new('types');
$bucket->set('_identifier', 42)->set('_bucket_capacity', '7')->set('_tokens_per_second', '0.5');
// At 0.5 tokens a second, four of seven tokens are refilled in 8 of 14 seconds.
var_dump($bucket->consume(4), $left('42', 7), $bucket->consume(4));
?>
--EXPECT--
-- identifier --
bool(true)
float(9)
float(8)
bool(true)
float(8)
float(7)
float(7)
float(6)
float(6)
-- capacity --
bool(false)
bool(true)
float(20)
bool(false)
-- rate --
bool(false)
bool(true)
-- by reference --
float(9)
float(8)
float(7)
bool(false)
bool(true)
bool(true)
-- other types are converted as in the constructor --
bool(true)
float(6)
bool(false)

--TEST--
A subclass changes the protected properties, and the next call uses the new values
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

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
print_values($bucket->set('_identifier', 'y')->consume(2), $left('x'), $left('y'));
print_values($bucket->append('z')->consume(3), $left('y'), $left('yz'));
for ($i = 0; $i < 100; $i++) {
    $bucket->append('.')->consume(4);
}
print_values($left('yz'), $left('yz.'), $left('yz' . str_repeat('.', 100)));

echo "-- capacity --\n";
$bucket = $new('capacity');
print_values($bucket->consume(11), $bucket->set('_bucket_capacity', 20)->consume(11), $bucket->peek()->capacity);
print_values($bucket->set('_bucket_capacity', 5)->consume(6));

echo "-- rate --\n";
$bucket = $new('rate');
$bucket->consume(10);
$storage->advance(1);
print_values($bucket->set('_tokens_per_second', 0.5)->consume(1), $bucket->set('_tokens_per_second', 2.0)->consume(1));

echo "-- by reference --\n";
$bucket = $new('reference');
$identifier = &$bucket->reference('_identifier');
$bucket->consume(1);
$identifier = 'by reference';
$bucket->consume(2);
$identifier .= '!';
$bucket->consume(3);
print_values($left('reference'), $left('by reference'), $left('by reference!'));
$capacity = &$bucket->reference('_bucket_capacity');
$capacity = 3;
print_values($bucket->consume(4));
$rate = &$bucket->reference('_tokens_per_second');
$rate = 1000000;
print_values($bucket->consume(3));
$storage->advance(0.00001);
print_values($bucket->consume(3));

echo "-- other types are converted as in the constructor --\n";
$bucket = $new('types');
$bucket->set('_identifier', 42)->set('_bucket_capacity', '7')->set('_tokens_per_second', '0.5');
// At 0.5 tokens a second, the four tokens cost 8 seconds, and 6 of the bucket's 14 seconds are
// left.
print_values($bucket->consume(4), $left('42', 7), $bucket->consume(4));
?>
--EXPECT--
-- identifier --
true 9.0 8.0
true 8.0 7.0
7.0 6.0 6.0
-- capacity --
false true 20.0
false
-- rate --
false true
-- by reference --
9.0 8.0 7.0
false
true
true
-- other types are converted as in the constructor --
true 6.0 false

--TEST--
An invalid protected property causes an error that names it, and nothing is taken
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Changing extends TokenBucket
{
    public function set($name, $value)
    {
        $this->$name = $value;
    }

    public function drop($name)
    {
        unset($this->$name);
    }
}
$storage = new TokenBucketStorageMemory;
$cases = [
    ['_bucket_capacity', 0],
    ['_bucket_capacity', -1],
    ['_bucket_capacity', NAN],
    ['_bucket_capacity', INF],
    ['_bucket_capacity', 1e300],
    ['_bucket_capacity', 'many'],
    ['_bucket_capacity', []],
    ['_tokens_per_second', 0],
    ['_tokens_per_second', -0.5],
    ['_tokens_per_second', NAN],
    ['_tokens_per_second', 1e16],
    ['_tokens_per_second', new stdClass],
    ['_identifier', []],
    ['_identifier', new stdClass],
];
foreach ($cases as [$name, $value]) {
    $bucket = new Changing($storage, 'x', 10, 1);
    $bucket->set($name, $value);
    echo thrown(fn() => $bucket->consume()), "\n";
    check(thrown(fn() => $bucket->consume()) !== 'nothing thrown', 'consume() again');
    check(thrown(fn() => $bucket->attempt()) !== 'nothing thrown', 'attempt()');
    check(thrown(fn() => $bucket->peek()) !== 'nothing thrown', 'peek()');
    check(thrown(fn() => $bucket->reset()) !== 'nothing thrown' || $name !== '_identifier', 'reset()');
}
echo "-- valid again --\n";
$bucket = new Changing($storage, 'x', 10, 1);
$bucket->set('_bucket_capacity', 0);
thrown(fn() => $bucket->consume());
$bucket->set('_bucket_capacity', 10);
var_dump($bucket->consume(10));
echo "-- an unset property causes no crash --\n";
foreach (['_bucket_capacity', '_tokens_per_second', '_identifier'] as $name) {
    $bucket = new Changing($storage, 'x', 10, 1);
    $bucket->drop($name);
    var_dump(is_string(@thrown(fn() => $bucket->consume())));
}
?>
--EXPECTF--
ValueError: TokenBucket::$_bucket_capacity must be greater than 0
ValueError: TokenBucket::$_bucket_capacity must be greater than %A0
ValueError: TokenBucket::$_bucket_capacity must be finite
ValueError: TokenBucket::$_bucket_capacity must be finite
ValueError: TokenBucket::$_bucket_capacity must refill within 2^60 nanoseconds at the given rate
TypeError: TokenBucket::$_bucket_capacity must be of type int|float%S
TypeError: TokenBucket::$_bucket_capacity must be of type int|float%S
ValueError: TokenBucket::$_tokens_per_second must be greater than 0
ValueError: TokenBucket::$_tokens_per_second must be greater than %A0
ValueError: TokenBucket::$_tokens_per_second must be finite
ValueError: TokenBucket::$_tokens_per_second must be less than or equal to 1.0E+15
TypeError: TokenBucket::$_tokens_per_second must be of type int|float%S
TypeError: TokenBucket::$_identifier must be of type string%S
TypeError: TokenBucket::$_identifier must be of type string%S
-- valid again --
bool(true)
-- an unset property causes no crash --
bool(true)
bool(true)
bool(true)

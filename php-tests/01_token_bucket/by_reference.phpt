--TEST--
Overriding methods and storages may return by reference
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Doubled extends TokenBucket
{
    public array $seconds = [];

    protected function &_tokens_to_seconds($tokens)
    {
        $this->seconds[] = 2 * $tokens;
        return $this->seconds[array_key_last($this->seconds)];
    }
}

class Answering extends GrantingStorage
{
    public bool $answer = false;

    public function &consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        echo "consume $identifier $microtime $full_microtime\n";
        return $this->answer;
    }
}

echo "-- _tokens_to_seconds() --\n";
$storage = new TokenBucketStorageMemory;
$bucket = new Doubled($storage, 'x', 10, 1);
print_values($bucket->consume(4), $bucket->attempt(7)->allowed, $bucket->attempt(6)->allowed);
echo json_encode($bucket->seconds), "\n";
$bucket->refund(10);
print_values($bucket->consume(10));

echo "-- consume() --\n";
$answering = new Answering;
$bucket = new Doubled($answering, 'x', 10, 1);
print_values($bucket->consume(3));
$answering->answer = true;
print_values($bucket->consume(3), $bucket->attempt(3)->allowed);

echo "-- a bootstrap closure --\n";
$agreed = true;
$agree = function &() use (&$agreed) {
    return $agreed;
};
print_values($storage->consume('first', 1, 10, $agree));
$agreed = false;
print_values($storage->consume('second', 1, 10, $agree));
?>
--EXPECT--
-- _tokens_to_seconds() --
true false true
[8,20,14,20,12,20]
true
-- consume() --
consume x 6 20
false
consume x 6 20
consume x 6 20
true true
-- a bootstrap closure --
true
false

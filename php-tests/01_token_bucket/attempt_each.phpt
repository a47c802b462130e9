--TEST--
attemptEach() decides each bucket on its own and returns the decisions under the same keys
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Halved extends TokenBucket
{
    public function _bootstrap($initialTokens)
    {
        parent::_bootstrap(5);
    }
}
$id = bin2hex(random_bytes(8));
foreach ([new TokenBucketStorageMemory, new TokenBucketStorageSharedMemory($id)] as $storage) {
    $name = get_class($storage);
    $few = new TokenBucket($storage, 'few', 3, 1e-6);
    $many = new TokenBucket($storage, 'many', 10, 1e-6);
    $keys = ['', "a\xff\0", '7', -3, PHP_INT_MAX, 'few'];
    $buckets = array_combine($keys, [$many, [$many, 2], [$few, 2], [$few, 2], [$many, 11], $few]);
    $decisions = TokenBucket::attemptEach($buckets);
    check(array_keys($decisions) === array_keys($buckets), "$name: the keys");
    $said = array_map(fn ($decision) => "$decision->reason $decision->remaining of $decision->capacity", array_values($decisions));
    check($said === [
        'granted 9 of 10', 'granted 7 of 10', 'granted 1 of 3', 'insufficient_tokens 1 of 3', 'exceeds_capacity 7 of 10', 'granted 0 of 3',
    ], "$name: " . json_encode($said));
    check([$few->peek()->remaining, $many->peek()->remaining] === [0.0, 7.0], "$name: left");
    check($decisions['few']->refusedBy === null, "$name: refusedBy is of attemptAll() only");
    // The decisions equal those of attempt().
    $each = TokenBucket::attemptEach([[$many, 2.5], $few]);
    $many->refund(2.5);
    check($each[0]->remaining === $many->attempt(2.5)->remaining && abs($each[1]->retryAfter - $few->attempt()->retryAfter) < 1, "$name: as attempt()");

    $bucket = new TokenBucket($storage, 'twice', 100, 1e-6);
    $granted = array_filter(TokenBucket::attemptEach(array_fill(0, 130, $bucket)), fn ($decision) => $decision->allowed);
    check(array_keys($granted) === range(0, 99), "$name: one bucket 130 times");
    $larger = new TokenBucket($storage, 'twice', 101, 1e-6);
    check(TokenBucket::attemptEach([$larger, $bucket])[0]->capacity === 101.0, "$name: quotas of their own");
    $halved = fn ($name) => new Halved($storage, $name, 10, 1e-6);
    // A class with a method of its own is decided in its turn.
    $ordered = fn (string $class) => new $class($storage, 'ordered', 5, 1e-6);
    $turns = TokenBucket::attemptEach([$ordered('TokenBucket'), [$ordered('Halved'), 3], [$ordered('TokenBucket'), 2]]);
    check(array_column($turns, 'allowed') === [true, true, false], "$name: the order: " . json_encode($turns));
    check(TokenBucket::attemptEach([[$halved('a'), 2]])[0]->remaining === $halved('b')->attempt(2)->remaining, "$name: _bootstrap()");
}

echo "-- a userland storage --\n";
$userland = new TokenBucket(new ArrayStorage, 'x', 2, 1e-6);
$memory = new TokenBucket(new TokenBucketStorageMemory, 'x', 2, 1e-6);
foreach (TokenBucket::attemptEach(['a' => $userland, 'b' => $memory, 'c' => [$userland, 2], 'd' => $memory]) as $key => $decision) {
    echo "$key: $decision->reason, $decision->remaining\n";
}

echo "-- references and changes during the call --\n";
class Clears
{
    public function __toString(): string
    {
        $GLOBALS['list'] = [];
        return 'x';
    }
}
class Renamed extends TokenBucket
{
    public function rename()
    {
        $this->_identifier = new Clears;
        return $this;
    }
}
$storage = new TokenBucketStorageMemory;
$pair = [(new Renamed($storage, 'y', 5, 1))->rename(), 3];
$list = ['pair' => &$pair, 'x' => new TokenBucket($storage, 'x', 5, 1)];
print_values(array_column(TokenBucket::attemptEach($list), 'remaining'), $list);
?>
--EXPECT--
-- a userland storage --
a: granted, 0
b: granted, 1
c: insufficient_tokens, 0
d: granted, 0
-- references and changes during the call --
[2.0, 1.0] []

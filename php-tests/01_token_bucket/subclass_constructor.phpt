--TEST--
A subclass that never calls the parent constructor gets an Error, not a crash
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

class Orphan extends TokenBucket
{
    public function __construct()
    {
    }

    public function protectedOnes($name, $argument)
    {
        return $this->$name($argument);
    }
}
$orphan = new Orphan;
$proper = new TokenBucket(new TokenBucketStorageMemory, 'x', 1, 1);
$calls = [
    'consume' => fn() => $orphan->consume(),
    'attempt' => fn() => $orphan->attempt(),
    'peek' => fn() => $orphan->peek(),
    'wait' => fn() => $orphan->wait(0.0),
    'refund' => fn() => $orphan->refund(),
    'reset' => fn() => $orphan->reset(),
    'attemptAll' => fn() => TokenBucket::attemptAll([$proper, $orphan]),
    '_bootstrap' => fn() => $orphan->protectedOnes('_bootstrap', 1),
    '_tokens_to_seconds' => fn() => $orphan->protectedOnes('_tokens_to_seconds', 1),
    '_seconds_to_tokens' => fn() => $orphan->protectedOnes('_seconds_to_tokens', 1),
    'clone' => fn() => (clone $orphan)->consume(),
];
foreach ($calls as $name => $call) {
    echo "$name: ", thrown($call), "\n";
}
var_dump($proper->peek()->remaining);
var_dump($orphan);

echo "-- a second constructor call sets another bucket --\n";
$proper->consume();
$proper->__construct(new TokenBucketStorageMemory, 'y', 5, 1);
var_dump($proper->peek()->remaining);
echo "-- a failed constructor leaves an unusable bucket --\n";
class Careless extends TokenBucket
{
    public function __construct()
    {
        try {
            parent::__construct(new TokenBucketStorageMemory, 'x', 0, 1);
        } catch (ValueError $e) {
            echo $e->getMessage(), "\n";
        }
    }
}
echo thrown(fn() => (new Careless)->consume()), "\n";
?>
--EXPECTF--
consume: Error: %s
attempt: Error: %s
peek: Error: %s
wait: Error: %s
refund: Error: %s
reset: Error: %s
attemptAll: Error: %s
_bootstrap: Error: %s
_tokens_to_seconds: %s
_seconds_to_tokens: %s
clone: Error: %s
float(1)
object(Orphan)#%d (4) {
  ["_storage":"TokenBucket":private]=>
  NULL
  ["_identifier":protected]=>
  NULL
  ["_bucket_capacity":protected]=>
  NULL
  ["_tokens_per_second":protected]=>
  NULL
}
-- a second constructor call sets another bucket --
float(5)
-- a failed constructor leaves an unusable bucket --
TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be greater than 0
Error: %s

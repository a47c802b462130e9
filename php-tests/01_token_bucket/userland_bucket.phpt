--TEST--
The userland class makes the same decisions as the native class on native storages
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** The userland class with the clock of its storage, on which no time passes during a call. */
class OnFakeClock extends UserlandTokenBucket
{
    public function __construct(private TokenBucketStorageMemory $clock, $identifier, $bucket_capacity, $tokens_per_second)
    {
        parent::__construct($clock, $identifier, $bucket_capacity, $tokens_per_second);
    }

    protected function _bootstrap($initialTokens)
    {
        $this->clock->bootstrap($this->_identifier, $this->clock->now() - $this->_tokens_to_seconds($initialTokens));
    }
}

echo "-- memory: equal decisions in random histories --\n";
mt_srand(3);
$storage = new TokenBucketStorageMemory;
for ($round = 0; $round < 300; $round++) {
    $capacity = mt_rand(1, 40);
    // The storage interface takes seconds. At some rates, the cost of a token is not a whole number
    // of nanoseconds. Then the cost of n tokens differs from n times the cost of one token by some
    // nanoseconds. On a fixed clock, this difference would change decisions. So at these rates the
    // calls take single tokens.
    [$rate, $most] = [[1, 9], [2, 9], [0.5, 9], [100, 9], [3, 1], [7, 1], [1 / 60, 1], [mt_rand(1, 100000) / mt_rand(1, 1000), 1]][$round % 8];
    $native = new TokenBucket($storage, "native $round", $capacity, $rate);
    $userland = new OnFakeClock($storage, "userland $round", $capacity, $rate);
    $history = [];
    for ($i = 0; $i < 60; $i++) {
        $tokens = mt_rand(0, 9) < $most && $most > 1 ? mt_rand(0, $capacity + 2) : 1;
        if (mt_rand(0, 3) === 0) {
            // Avoids times that refill whole tokens, because the two classes round such times
            // differently.
            $seconds = (mt_rand(0, $capacity) + mt_rand(1, 999999) / 1000003) / $rate;
            $storage->advance($seconds);
            $history[] = "+$seconds";
        }
        $a = $native->consume($tokens);
        $b = $userland->consume($tokens);
        $history[] = "$tokens:" . json_encode($a);
        if ($a !== $b) {
            check(false, "$capacity at $rate: " . implode(' ', $history) . ' userland ' . json_encode($b));
            break;
        }
    }
}

echo "-- the native class on a userland storage with the published algorithm --\n";
$a = new ArrayStorage;
$b = new ArrayStorage;
$native = new TokenBucket($a, 'x', 10, 0.5);
$userland = new UserlandTokenBucket($b, 'x', 10, 0.5);
check($native->consume() && $userland->consume(), 'the first call');
$a->stop_when_full();
$b->stop_when_full();
for ($i = 0; $i < 300; $i++) {
    $tokens = mt_rand(1, 4);
    check($native->consume($tokens) === $userland->consume($tokens), "step $i: $tokens");
    $a->elapsed = $b->elapsed += mt_rand(0, 3) * 1.3;
}
print_values($a->prepared, $b->prepared);
?>
--EXPECT--
-- memory: equal decisions in random histories --
-- the native class on a userland storage with the published algorithm --
0 0

--TEST--
Decisions are consistent: peek(), remaining and retryAfter agree, and denials take nothing
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

mt_srand(4);
$tight = $laws = 0;
for ($round = 0; $round < (is_slow() ? 40 : 400); $round++) {
    $capacity = mt_rand(1, 60);
    $rate = [1, 3, 7, 0.3, 1e5 / 7, 12.5, 1e6, mt_rand(1, 1000000) / mt_rand(1, 1000)][$round % 8];
    $storage = new TokenBucketStorageMemory;
    $bucket = new TokenBucket($storage, "x", $capacity, $rate);
    $name = "$capacity at $rate";
    for ($i = 0; $i < 20; $i++) {
        $now = $bucket->peek(0);
        for ($n = 0; $n <= $capacity + 1; $n++) {
            $laws++;
            check($bucket->peek($n)->allowed === ($n <= $now->remaining), "$name: peek($n) with {$now->remaining}");
        }
        check($bucket->peek(0) == $now, "$name: peek changed it");

        $tokens = mt_rand(1, $capacity);
        $decision = $bucket->attempt($tokens);
        if ($decision->allowed) {
            check($decision->retryAfter === 0.0 && $decision->reason === 'granted', "$name: grant");
            check($decision->remaining === $now->remaining - $tokens, "$name: remaining {$now->remaining} - $tokens = {$decision->remaining}");
            $storage->advance(mt_rand(0, 1000) / 1000 / $rate);
            continue;
        }
        check($bucket->peek($tokens) == $decision, "$name: a denial changed it");
        check($decision->remaining === $now->remaining, "$name: a denial took some");
        check($decision->retryAfter > 0 && $decision->retryAfter <= $decision->resetAfter + 1e-9, "$name: 0 < retryAfter <= resetAfter");
        // retryAfter is a whole number of nanoseconds. advance() rounds up to whole nanoseconds, so
        // this call is 1 ns too early.
        if ($decision->retryAfter > 2e-9) {
            $storage->advance($decision->retryAfter - 1.5e-9);
            $early = $bucket->attempt($tokens);
            check(!$early->allowed, "$name: too early");
            check($early->retryAfter <= 3e-9, "$name: nearly there, {$early->retryAfter}");
            $tight++;
            $storage->advance($early->retryAfter);
        } else {
            $storage->advance($decision->retryAfter);
        }
        check($bucket->attempt($tokens)->allowed, "$name: not granted after retryAfter");
    }
    // Checks that the call is granted after one wait for retryAfter.
    $bucket->reset();
    $bucket->consume($capacity);
    $storage->advance($bucket->attempt($capacity)->retryAfter);
    check($bucket->attempt($capacity)->allowed, "$name: all of it after retryAfter");
    $storage->advance($bucket->peek()->resetAfter);
    check($bucket->peek()->remaining === (float) $capacity, "$name: full after resetAfter");
}
var_dump($tight > 100 || is_slow(), $laws > 10000);
?>
--EXPECT--
bool(true)
bool(true)

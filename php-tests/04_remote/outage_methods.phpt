--TEST--
Every method follows each failure policy while the store is down, and Decision::$fallback says so
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

$store = Store::each()->current();
check($store->is_back(), 'back before');
$store->server->kill();
Warnings::collect();
foreach (OnFailure::cases() as $policy) {
    echo "-- $policy->name --\n";
    $storage = $store->storage($policy, "$policy->name:");
    $bucket = new TokenBucket($storage, 'x', 5, 0.001);
    $shown = function (mixed $value): string {
        return $value instanceof TokenBucket\Decision
            ? sprintf('%s %s remaining %s, retryAfter %s%s', json_encode($value->allowed), $value->reason, $value->remaining, round($value->retryAfter, $value->reason === 'unavailable' ? 3 : -2), $value->fallback ? ', fallback' : '')
            : json_encode($value);
    };
    $methods = [];
    foreach ([
        'consume(2)' => fn () => $bucket->consume(2),
        'consume(6)' => fn () => $bucket->consume(6),
        'attempt(6)' => fn () => $bucket->attempt(6),
        'consume(0)' => fn () => $bucket->consume(0),
        'attempt(4)' => fn () => $bucket->attempt(4),
        'peek()' => fn () => $bucket->peek(),
        'attempt(3)' => fn () => $bucket->attempt(3),
        'wait(0.1)' => fn () => $bucket->wait(0.1),
        'refund()' => fn () => $bucket->refund(),
        'peek() after it' => fn () => $bucket->peek(),
        'attemptAll()' => fn () => TokenBucket::attemptAll([$bucket, new TokenBucket($storage, 'y', 5, 0.001)]),
        'attemptAll(2)' => fn () => TokenBucket::attemptAll([$bucket, new TokenBucket($storage, 'y', 5, 0.001)], 2),
        'mixed' => fn () => TokenBucket::attemptAll([new TokenBucket(new TokenBucketStorageMemory, 'z', 5, 1), $bucket]),
        'block()' => fn () => $bucket->block(5000),
        'drain()' => fn () => $bucket->drain(),
        'peek() in the block' => fn () => $bucket->peek(),
        'reset()' => fn () => $bucket->reset(),
        'peek() after that' => fn () => $bucket->peek(),
        'prepare()' => fn () => $storage->prepare(),
        'bootstrap()' => fn () => $storage->bootstrap('b', microtime(true) - 2500),
        'storage consume()' => fn () => [$storage->consume('b', 1000, 5000, fn () => true), $storage->consume('c', 1000, 5000, fn () => false)],
    ] as $what => $call) {
        try {
            $result = $shown($call());
        } catch (TokenBucket\StorageException $e) {
            // The message reports a failed connection or an open breaker.
            $result = get_class($e) . ', ' . (str_contains($e->getMessage(), 'its breaker is open') || str_contains($e->getMessage(), 'cannot connect') ? 'as expected' : $e->getMessage());
        }
        $methods[$result][] = $what;
    }
    foreach ($methods as $result => $of_result) {
        echo "$result: ", implode(', ', $of_result), "\n";
    }
}
echo implode("\n", Warnings::take()), "\n";
?>
--EXPECT--
-- Local --
true: consume(2), consume(0)
false: consume(6)
false exceeds_capacity remaining 0, retryAfter INF: attempt(6)
false insufficient_tokens remaining 3, retryAfter 1000, fallback: attempt(4)
true granted remaining 3, retryAfter 0, fallback: peek()
true granted remaining 0, retryAfter 0, fallback: attempt(3), attemptAll()
false insufficient_tokens remaining 0, retryAfter 1000, fallback: wait(0.1), mixed
null: refund(), reset(), prepare(), bootstrap()
true granted remaining 1, retryAfter 0, fallback: peek() after it
false insufficient_tokens remaining 0, retryAfter 2000, fallback: attemptAll(2)
true granted remaining -4, retryAfter 0, fallback: block(), drain()
false insufficient_tokens remaining -4, retryAfter 5000, fallback: peek() in the block
true granted remaining 5, retryAfter 0, fallback: peek() after that
[true,false]: storage consume()
-- Allow --
true: consume(2), consume(0)
false: consume(6)
false exceeds_capacity remaining 0, retryAfter INF: attempt(6)
true granted remaining 5, retryAfter 0, fallback: attempt(4), peek(), attempt(3), wait(0.1), peek() after it, attemptAll(), attemptAll(2), block(), drain(), peek() in the block, peek() after that
null: refund(), reset(), prepare(), bootstrap()
true granted remaining 4, retryAfter 0: mixed
[true,true]: storage consume()
-- Deny --
false: consume(2), consume(6), consume(0)
false exceeds_capacity remaining 0, retryAfter INF: attempt(6)
false unavailable remaining 0, retryAfter 1, fallback: attempt(4), peek(), attempt(3), wait(0.1), peek() after it, attemptAll(), attemptAll(2), mixed, block(), drain(), peek() in the block, peek() after that
null: refund(), reset(), prepare(), bootstrap()
[false,false]: storage consume()
-- Throw --
TokenBucket\StorageException, as expected: consume(2), consume(0), attempt(4), peek(), attempt(3), wait(0.1), refund(), peek() after it, attemptAll(), attemptAll(2), mixed, block(), drain(), peek() in the block, reset(), peek() after that, bootstrap(), storage consume()
false: consume(6)
false exceeds_capacity remaining 0, retryAfter INF: attempt(6)
null: prepare()
Warning: TokenBucket::consume(): unix:redis.sock?db=0: cannot connect: Connection refused (os error); using shared memory of this host until it recovers

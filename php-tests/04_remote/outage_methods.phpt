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
            echo "$what: ", $shown($call()), "\n";
        } catch (TokenBucket\StorageException $e) {
            // The message reports a failed connection or an open breaker.
            echo get_class($e), ', ', str_contains($e->getMessage(), 'its breaker is open') || str_contains($e->getMessage(), 'cannot connect') ? 'as expected' : $e->getMessage(), "\n";
        }
    }
}
echo implode("\n", Warnings::take()), "\n";
?>
--EXPECT--
-- Local --
consume(2): true
consume(6): false
attempt(6): false exceeds_capacity remaining 0, retryAfter INF
consume(0): true
attempt(4): false insufficient_tokens remaining 3, retryAfter 1000, fallback
peek(): true granted remaining 3, retryAfter 0, fallback
attempt(3): true granted remaining 0, retryAfter 0, fallback
wait(0.1): false insufficient_tokens remaining 0, retryAfter 1000, fallback
refund(): null
peek() after it: true granted remaining 1, retryAfter 0, fallback
attemptAll(): true granted remaining 0, retryAfter 0, fallback
attemptAll(2): false insufficient_tokens remaining 0, retryAfter 2000, fallback
mixed: false insufficient_tokens remaining 0, retryAfter 1000, fallback
block(): true granted remaining -4, retryAfter 0, fallback
drain(): true granted remaining -4, retryAfter 0, fallback
peek() in the block: false insufficient_tokens remaining -4, retryAfter 5000, fallback
reset(): null
peek() after that: true granted remaining 5, retryAfter 0, fallback
prepare(): null
bootstrap(): null
storage consume(): [true,false]
-- Allow --
consume(2): true
consume(6): false
attempt(6): false exceeds_capacity remaining 0, retryAfter INF
consume(0): true
attempt(4): true granted remaining 5, retryAfter 0, fallback
peek(): true granted remaining 5, retryAfter 0, fallback
attempt(3): true granted remaining 5, retryAfter 0, fallback
wait(0.1): true granted remaining 5, retryAfter 0, fallback
refund(): null
peek() after it: true granted remaining 5, retryAfter 0, fallback
attemptAll(): true granted remaining 5, retryAfter 0, fallback
attemptAll(2): true granted remaining 5, retryAfter 0, fallback
mixed: true granted remaining 4, retryAfter 0
block(): true granted remaining 5, retryAfter 0, fallback
drain(): true granted remaining 5, retryAfter 0, fallback
peek() in the block: true granted remaining 5, retryAfter 0, fallback
reset(): null
peek() after that: true granted remaining 5, retryAfter 0, fallback
prepare(): null
bootstrap(): null
storage consume(): [true,true]
-- Deny --
consume(2): false
consume(6): false
attempt(6): false exceeds_capacity remaining 0, retryAfter INF
consume(0): false
attempt(4): false unavailable remaining 0, retryAfter 1, fallback
peek(): false unavailable remaining 0, retryAfter 1, fallback
attempt(3): false unavailable remaining 0, retryAfter 1, fallback
wait(0.1): false unavailable remaining 0, retryAfter 1, fallback
refund(): null
peek() after it: false unavailable remaining 0, retryAfter 1, fallback
attemptAll(): false unavailable remaining 0, retryAfter 1, fallback
attemptAll(2): false unavailable remaining 0, retryAfter 1, fallback
mixed: false unavailable remaining 0, retryAfter 1, fallback
block(): false unavailable remaining 0, retryAfter 1, fallback
drain(): false unavailable remaining 0, retryAfter 1, fallback
peek() in the block: false unavailable remaining 0, retryAfter 1, fallback
reset(): null
peek() after that: false unavailable remaining 0, retryAfter 1, fallback
prepare(): null
bootstrap(): null
storage consume(): [false,false]
-- Throw --
consume(2): TokenBucket\StorageException, as expected
consume(6): false
attempt(6): false exceeds_capacity remaining 0, retryAfter INF
consume(0): TokenBucket\StorageException, as expected
attempt(4): TokenBucket\StorageException, as expected
peek(): TokenBucket\StorageException, as expected
attempt(3): TokenBucket\StorageException, as expected
wait(0.1): TokenBucket\StorageException, as expected
refund(): TokenBucket\StorageException, as expected
peek() after it: TokenBucket\StorageException, as expected
attemptAll(): TokenBucket\StorageException, as expected
attemptAll(2): TokenBucket\StorageException, as expected
mixed: TokenBucket\StorageException, as expected
block(): TokenBucket\StorageException, as expected
drain(): TokenBucket\StorageException, as expected
peek() in the block: TokenBucket\StorageException, as expected
reset(): TokenBucket\StorageException, as expected
peek() after that: TokenBucket\StorageException, as expected
prepare(): null
bootstrap(): TokenBucket\StorageException, as expected
storage consume(): TokenBucket\StorageException, as expected
Warning: TokenBucket::consume(): unix:redis.sock?db=0: cannot connect: Connection refused (os error); using shared memory of this host until it recovers

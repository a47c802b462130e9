--TEST--
No cached denial is used with the denial cache off, with denialCacheMaxAge 0, or for another prefix
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is, Closure $storage, Closure $elsewhere, string $class, string $address) {
    // With the denial cache off, or with denialCacheMaxAge 0, each call contacts the store.
    foreach ([[false, LASTING], [true, 0.0]] as [$denialCache, $age]) {
        $plain = new TokenBucket($storage($denialCache, $age), 'plain' . json_encode($denialCache), 1, 0.001);
        $plain->consume();
        $is([[false, false, false], 3], $asked(fn () => [$plain->consume(), $plain->consume(), $plain->consume()]), 'asked each time');
    }

    // The same identifier under another prefix is another bucket.
    $old = $bucket('old', 1);
    $old->consume();
    $old->consume();
    $other = new TokenBucket(new $class($address, 'q:', PATIENCE), 'old', 1, 0.001);
    $is([true, 1], $asked(fn () => $other->consume()), 'another prefix');
});
?>
--EXPECT--
done

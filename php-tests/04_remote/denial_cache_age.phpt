--TEST--
A call contacts the store if the cached denial is older than denialCacheMaxAge
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

// The age from which a cached denial may no longer be used, in seconds.
const AGE = 0.3;

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    // A cached denial is used until it is denialCacheMaxAge old. A call that ends within this time
    // after the denied call began must not contact the store. If no call is so quick, as on a busy
    // machine, the test tries another bucket.
    for ($told = $round = 0; $told === 0 && $round < 100; $round++) {
        $old = $bucket("old $round", 1, age: AGE);
        $old->consume();
        $start = hrtime(true);
        $old->consume();
        do {
            $call = $asked(fn () => $old->consume());
            $is_young = hrtime(true) - $start < AGE * 1e9;
            if ($is_young) {
                $is([false, 0], $call, 'told while it is young');
                $told++;
            }
            usleep(20_000);
        } while ($is_young);
    }
    check($told > 0, "$kind: no call was quick enough");

    // The next call after denialCacheMaxAge contacts the store. Calls that accept older denials do
    // not.
    $old = $bucket('old', 1, age: AGE);
    $old->consume();
    $old->consume();
    usleep((int) (AGE * 1e6) + 1000);
    $is([false, 0], $asked(fn () => $bucket('old', 1)->consume()), 'told to a caller that accepts older ones');
    $is([false, 1], $asked(fn () => $old->consume()), 'asked when it is old');
    $is([false, 0], $asked(fn () => $bucket('old', 1)->consume()), 'told again');

    // Another quota on the same bucket uses the same cached state.
    $x = $bucket('x', age: AGE);
    $x->consume(5);
    $x->consume(5);
    usleep((int) (AGE * 1e6) + 1000);
    $is([false, 1], $asked(fn () => $x->consume(5)), 'asked after so long');
    $is([false, 0], $asked(fn () => $bucket('x', 3)->consume(3)), 'a smaller quota is told');
});
?>
--EXPECT--
done

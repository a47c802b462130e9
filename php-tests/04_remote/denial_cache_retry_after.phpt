--TEST--
A bucket grants after the retryAfter of a cached denial
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    // Waiting for retryAfter is enough, whether the denial is cached or not.
    foreach ([[3, 20.0], [1, 7.0], [10, 100.0]] as [$capacity, $rate]) {
        for ($round = 0; $round < 3; $round++) {
            // On a busy machine a bucket may be full again before the third call. Then the test
            // tries another bucket. The factor of 2 allows for the error of a cached denial, which
            // is at most the time of a call.
            $try = 0;
            do {
                $began = hrtime(true);
                $quick = $bucket("quick $rate $round " . ++$try, $capacity, $rate);
                $quick->consume($capacity);
                $quick->consume($capacity);
                [$decision, $trips] = $asked(fn () => $quick->attempt($capacity));
                $took = (hrtime(true) - $began) / 1e9;
            } while (2 * $took >= $capacity / $rate && $try < 1000);
            $is([false, 0], [$decision->allowed, $trips], 'told');
            // The error of a cached denial is at most the time of the call that was denied.
            check($decision->retryAfter > 0 && $decision->retryAfter <= $capacity / $rate + $took, "$kind: retryAfter $decision->retryAfter");
            usleep((int) ceil($decision->retryAfter * 1e6));
            $is(true, $quick->consume($capacity), "granted after retryAfter of $rate");
        }
    }
    $waiting = $bucket('waiting', 2, 10.0);
    $waiting->consume(2);
    $waiting->consume(2);
    $is(true, $waiting->wait(500, 2)->allowed, 'wait() on a told denial');
});
?>
--EXPECT--
done

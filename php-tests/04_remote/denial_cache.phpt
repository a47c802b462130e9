--TEST--
All processes of a host use a cached denial, until a refund or reset, for at most denialCacheMaxAge
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is, Closure $storage) {
    // Cached decisions are plausible and close to those of the store.
    $x = $bucket('x');
    $start = hrtime(true);
    // 1.5 tokens are left, so that the error of a cached denial does not change `remaining`.
    $is(true, $x->consume(3.5), 'taken');
    [$answered, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 1], [$answered->allowed, $trips], 'a first denial asks');
    [$told, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 'insufficient_tokens', 1.0, 5.0, 0], [$told->allowed, $told->reason, $told->remaining, $told->capacity, $trips], 'told');
    // The times differ by the time between the calls and by the error of the cached denial, which
    // is at most the time of a call.
    $took = (hrtime(true) - $start) / 1e9;
    check(abs($told->retryAfter - $answered->retryAfter) <= $took && $told->retryAfter > 1500 - 50 - $took && $told->retryAfter <= 1500 + $took, "$kind: retryAfter $told->retryAfter, $answered->retryAfter");
    check(abs($told->resetAfter - $answered->resetAfter) <= $took && $told->resetAfter > 3500 - 50 - $took && $told->resetAfter <= 3500 + $took, "$kind: resetAfter $told->resetAfter, $answered->resetAfter");
    $is([true, 1], $asked(fn () => $x->consume(1)), 'what may be there is asked for');
    $is([true, 1], $asked(fn () => $x->consume(0)), 'nothing is asked for');
    $is([0.0, 1], $asked(fn () => $x->peek()->remaining), 'peek() asks');
    $is([false, 0], $asked(fn () => $x->consume()), 'what peek() has seen is told');
    $is([[false, false], 0], $asked(fn () => in_processes(2, fn () => $x->consume())), 'told to other processes of this host');
    $others = [$bucket('x'), $bucket('x', 10, 0.002)];
    $is([[false, false], 0], $asked(fn () => array_map(fn ($other) => $other->consume(2), $others)), 'told to other objects, also of another limit with this span');

    foreach ([[false, LASTING], [true, 0.0]] as [$denialCache, $age]) {
        $plain = new TokenBucket($storage($denialCache, $age), 'plain' . json_encode($denialCache), 1, 0.001);
        $plain->consume();
        $is([[false, false], 2], $asked(fn () => [$plain->consume(), $plain->consume()]), 'each call asks');
    }

    // A cached denial applies the floor of each call.
    $kept = $bucket('kept');
    $is([true, 1], $asked(fn () => $kept->attempt(1.5, 2)->allowed), 'above the floor');
    $is(['below_floor', 1], $asked(fn () => $kept->attempt(2, 2)->reason), 'below the floor');
    $is(['below_floor', 0], $asked(fn () => $kept->attempt(2, 2)->reason), 'below the floor again');
    $is(['insufficient_tokens', 0], $asked(fn () => $kept->attempt(3.6, 0.5)->reason), 'without the tokens');
    $is([true, 1], $asked(fn () => $kept->attempt(2, 1)->allowed), 'above a lower floor');
    $is([true, 1], $asked(fn () => $kept->attempt(1)->allowed), 'without a floor');

    // Tokens that this host gives back count at once.
    $own = $bucket('own', 5);
    foreach (['refund' => fn () => $own->refund(2), 'reset' => fn () => $own->reset()] as $method => $call) {
        $own->consume(5);
        while ($own->consume()) {
        }
        $is([false, 0], $asked(fn () => $own->consume()), 'told');
        in_processes(1, $call);
        // On memcached a worker first tries CAS with its copy of the item. If the item has changed,
        // the worker tries again with the current item in a second round trip.
        [$granted, $trips] = $asked(fn () => $own->consume());
        check($granted && $trips >= 1 && $trips <= ($kind === 'Redis' ? 1 : 2), "$kind: $method() of a process of this host, $trips");
    }
});
?>
--EXPECT--
done

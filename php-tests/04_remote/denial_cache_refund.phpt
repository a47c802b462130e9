--TEST--
A refund or reset on the same host removes the cached denial
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
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

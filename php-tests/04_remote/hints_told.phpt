--TEST--
All processes of a host use a cached denial without contacting the store
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    die('skip times matter');
}
?>
--FLAKY--
It compares times, which a busy machine delays.
--FILE--
<?php
require __DIR__ . '/hints.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    // Cached decisions are plausible and close to those of the store.
    $x = $bucket('x');
    $is(true, $x->consume(4), 'taken');
    [$answered, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 1], [$answered->allowed, $trips], 'a first denial asks');
    [$told, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 'insufficient_tokens', 1.0, 5.0, 0], [$told->allowed, $told->reason, $told->remaining, $told->capacity, $trips], 'told');
    check(abs($told->retryAfter - $answered->retryAfter) < 0.1 && $told->retryAfter > 1900 && $told->retryAfter <= 2000.1, "$kind: retryAfter $told->retryAfter, $answered->retryAfter");
    check(abs($told->resetAfter - $answered->resetAfter) < 0.1 && $told->resetAfter > 3900 && $told->resetAfter <= 4000.1, "$kind: resetAfter $told->resetAfter, $answered->resetAfter");
    $is([true, 1], $asked(fn () => $x->consume(1)), 'what may be there is asked for');
    $is([true, 1], $asked(fn () => $x->consume(0)), 'nothing is asked for');
    $is([0.0, 1], $asked(fn () => $x->peek()->remaining), 'peek() asks');
    $is([false, 0], $asked(fn () => $x->consume()), 'what peek() has seen is told');
    $is([[false, false], 0], $asked(fn () => in_processes(2, fn () => $x->consume())), 'told to other processes of this host');
});
?>
--EXPECT--
done

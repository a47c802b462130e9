--TEST--
A call contacts the store if the cached denial is older than hintMaxAge
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    die('skip times matter');
}
?>
--FILE--
<?php
require __DIR__ . '/hints.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    // A cached denial is used until it is hintMaxAge old. The next call contacts the store.
    $old = $bucket('old', 1);
    $old->consume();
    $old->consume();
    $start = hrtime(true);
    while ((hrtime(true) - $start) / 1e9 < AGE - 0.1) {
        $is([false, 0], $asked(fn () => $old->consume()), 'told while it is young');
        usleep(50_000);
    }
    usleep(200_000);
    $is([false, 1], $asked(fn () => $old->consume()), 'asked when it is old');
    $is([false, 0], $asked(fn () => $old->consume()), 'told again');

    // Another quota on the same bucket uses the same cached state.
    $x = $bucket('x');
    $x->consume(5);
    $x->consume(5);
    usleep((int) ((AGE + 0.1) * 1e6));
    $is([false, 1], $asked(fn () => $bucket('x')->consume(5)), 'asked after so long');
    $is([false, 0], $asked(fn () => $bucket('x', 3)->consume(3)), 'a smaller quota is told');
});
?>
--EXPECT--
done

--TEST--
The denial cache applies the floor of each call
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is) {
    $bucket('another')->consume();
    $x = $bucket('x');
    $is([true, 1], $asked(fn () => $x->attempt(1.5, 2)->allowed), 'above the floor');
    $is(['below_floor', 1], $asked(fn () => $x->attempt(2, 2)->reason), 'below the floor');
    $is(['below_floor', 0], $asked(fn () => $x->attempt(2, 2)->reason), 'below the floor again');
    $is(['insufficient_tokens', 0], $asked(fn () => $x->attempt(3.6, 0.5)->reason), 'without the tokens');
    $is([true, 1], $asked(fn () => $x->attempt(2, 1)->allowed), 'above a lower floor');
    $is([true, 1], $asked(fn () => $x->attempt(1)->allowed), 'without a floor');
});
?>
--EXPECT--
done

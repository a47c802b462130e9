--TEST--
Refunds, resets and takes on another host count after hintMaxAge at the latest
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

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is, Closure $storage, Closure $elsewhere) {
    // Tokens that another host gives back count after hintMaxAge at the latest.
    foreach (['refund(2)', 'reset()'] as $call) {
        $far = $bucket("far $call");
        $far->consume(5);
        $is([false, false], [$far->consume(), $far->consume()], 'denied');
        $is('null', $elsewhere("far $call", $call), "$call elsewhere");
        $start = hrtime(true);
        while (!$far->consume() && (hrtime(true) - $start) / 1e9 < 3) {
            usleep(10_000);
        }
        $took = (hrtime(true) - $start) / 1e9;
        check($took < AGE + 0.15, "$kind: $call elsewhere counts after $took s");
    }

    // Tokens that another host takes are missing here, too.
    $is('true', $elsewhere('far 2', 'consume(5)'), 'taken elsewhere');
    $is([false, 1], $asked(fn () => $bucket('far 2')->consume()), 'denied here');
});
?>
--EXPECT--
done

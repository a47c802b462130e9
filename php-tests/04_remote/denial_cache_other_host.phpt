--TEST--
Refunds, resets and takes on another host count after denialCacheMaxAge at the latest
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/denial_cache.inc.php';

const AGE = 0.3;

on_each_store(function (string $kind, Closure $bucket, Closure $asked, Closure $is, Closure $storage, Closure $elsewhere) {
    // Tokens that another host gives back count after denialCacheMaxAge at the latest.
    foreach (['refund(2)', 'reset()'] as $call) {
        $far = $bucket("far $call", age: AGE);
        $far->consume(5);
        $is([false, false], [$far->consume(), $far->consume()], 'denied');
        $is('null', $elsewhere("far $call", $call), "$call elsewhere");
        usleep((int) (AGE * 1e6) + 1000);
        $is(true, $far->consume(), "$call elsewhere counts after denialCacheMaxAge");
    }

    // Tokens that another host takes are missing here, too.
    $is('true', $elsewhere('far 2', 'consume(5)'), 'taken elsewhere');
    $is([false, 1], $asked(fn () => $bucket('far 2')->consume()), 'denied here');
});
?>
--EXPECT--
done

--TEST--
An error handler may change the bucket during the call that warns
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

foreach ([...METHODS, ...METHODS] as $method) {
    $bucket = new Changing(Down::storage(), str_repeat('x', 30), 5, 0.001);
    set_error_handler(function () use ($bucket): bool {
        $bucket->change(str_repeat('y', 40), 3);
        scribble();
        return true;
    });
    call($bucket, $method);
    check($bucket->peek()->capacity === 3.0 && $bucket->peek()->remaining === 3.0, "$method: another bucket from then on");
    check($bucket->consume(3) && !$bucket->consume(), "$method: which decides");
}

echo "done\n";
?>
--EXPECT--
done

--TEST--
An error handler may construct the bucket again during the call that warns
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

foreach (METHODS as $method) {
    $bucket = new TokenBucket(Down::storage(), str_repeat('x', 30), 5, 0.001);
    set_error_handler(function () use ($bucket): bool {
        $bucket->__construct(new TokenBucketStorageMemory, str_repeat('z', 50), 2, 1);
        scribble();
        return true;
    });
    call($bucket, $method);
    check($bucket->consume(2) && !$bucket->consume(), "$method: another storage from then on");
}

echo "done\n";
?>
--EXPECT--
done

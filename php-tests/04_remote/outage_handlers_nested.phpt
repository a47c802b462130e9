--TEST--
An error handler may call the same bucket again
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

foreach ([...METHODS, ...METHODS] as $method) {
    $bucket = new TokenBucket(Down::storage(), 'x', 5, 0.001);
    $calls = 0;
    set_error_handler(function () use ($bucket, $method, &$calls): bool {
        $calls++;
        $bucket->consume();
        call($bucket, $method);
        return true;
    });
    call($bucket, $method);
    $left = ['consume' => 2.0, 'attempt' => 2.0, 'wait' => 2.0, 'peek' => 4.0][$method] ?? 5.0;
    check($bucket->peek()->remaining === $left, "$method: " . $bucket->peek()->remaining . ' left');
    check($calls === 1, "$method: $calls warnings");
}

echo "done\n";
?>
--EXPECT--
done

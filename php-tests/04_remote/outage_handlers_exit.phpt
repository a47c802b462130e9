--TEST--
An error handler may end the script
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

$bucket = new TokenBucket(Down::storage(), 'x', 5, 0.001);
register_shutdown_function(function () use ($bucket): void {
    var_dump($bucket->peek()->remaining);
});
set_error_handler(fn () => exit("ends\n"));
$bucket->consume();
echo "not reached\n";
?>
--EXPECT--
ends
float(4)

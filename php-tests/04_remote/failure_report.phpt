--TEST--
tokenbucket.failure_report: an outage is logged once, and only "warning" runs an error handler
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
$folder = temporary_folder();
// The handler of a framework: every warning becomes an exception.
$code = <<<'PHP'
set_error_handler(fn (int $level, string $message) => throw new ErrorException("handler, level $level: $message"));
$allow = TokenBucket\OnFailure::Allow;
$down = new TokenBucketStorageRedis("unix:///nowhere", onFailure: $allow);
for ($i = 0; $i < 5; $i++) {
    try {
        echo var_export((new TokenBucket($down, "x", 1, 1))->consume(), true), "\n";
    } catch (ErrorException $e) {
        echo $e->getMessage(), "\n";
    }
}
try {
    $throttle = new TokenBucket\Compat\ClientThrottle(new TokenBucketStorageMemcached("unix:///nowhere", onFailure: $allow));
    echo var_export($throttle->check("a\nb", 1), true), "\n";
} catch (ErrorException $e) {
    echo $e->getMessage(), "\n";
}
PHP;
foreach (['the default' => [], 'log' => ['log'], 'warning' => ['warning'], 'none' => ['none'], 'invalid' => ['maybe']] as $what => $setting) {
    $log = "$folder/$what.log";
    echo "== $what\n", php_run($code, ['error_log' => $log] + array_combine(array_fill(0, count($setting), 'tokenbucket.failure_report'), $setting));
    echo 'log: ', preg_replace('/^\[.*?\] /m', '', is_file($log) ? file_get_contents($log) : ''), "\n";
}
echo "== no error_log: the log of the server interface\n";
echo preg_replace('/^\[.*?\] /m', '', php_run($code, ['tokenbucket.failure_report' => 'log']));
echo "== a script cannot change the setting\n";
var_dump(ini_set('tokenbucket.failure_report', 'none'));
?>
--EXPECT--
== the default
true (5 times)
false
log: tokenbucket: unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
tokenbucket: Unable to obtain lock ob throttle_a\nb

== log
true (5 times)
false
log: tokenbucket: unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
tokenbucket: Unable to obtain lock ob throttle_a\nb

== warning
handler, level 2: TokenBucket::consume(): unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
true (4 times)
handler, level 512: Unable to obtain lock ob throttle_a\nb
log: 
== none
true (5 times)
false
log: 
== invalid

Warning: tokenbucket: tokenbucket.failure_report must be "log", "warning" or "none", "maybe" given; using the default in Unknown on line 0
true (5 times)
false
log: tokenbucket: unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
tokenbucket: Unable to obtain lock ob throttle_a\nb

== no error_log: the log of the server interface
tokenbucket: unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
true (5 times)
tokenbucket: Unable to obtain lock ob throttle_a\nb
false
== a script cannot change the setting
bool(false)

--TEST--
Control: a check-then-set limiter on APCu over-admits in the same harness
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/skip_slow.php';
if (!extension_loaded('apcu') && !is_file(PHP_EXTENSION_DIR . '/apcu.so')) {
    die('skip APCu is not installed');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

$ini = ['apc.enable_cli' => '1'];
if (!extension_loaded('apcu')) {
    $ini['extension'] = PHP_EXTENSION_DIR . '/apcu.so';
}
echo php_run_file(__DIR__ . '/control_apcu.inc.php', $ini);
?>
--EXPECT--
check-then-set on APCu: more than 100000
TokenBucket: 100000

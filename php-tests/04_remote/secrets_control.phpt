--TEST--
Control: the search finds a planted password in traces and dumps
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
log_errors=0
--FILE--
<?php
require __DIR__ . '/secrets.inc.php';

echo "-- the control: the search finds passwords in a trace --\n";
foreach (PASSWORDS as $password) {
    $told = fn (string $dsn): Exception => new RuntimeException('told');
    $shown = seen_of($told("redis://:$password@h"));
    check(array_diff(['as it is', 'its head', 'its tail'], found($shown, $password)) === [], 'a trace shows an argument');
    check(in_array('encoded', found('AUTH ' . rawurlencode($password), $password), true), 'an encoded one is found');
}

echo "-- the control: the search finds a password that a storage shows --\n";
Planted::$class = TokenBucketStorageMemcached::class;
Planted::$password = 'planted0';
Planted::$arguments = ['servers' => 'unix:///nowhere/planted0'];
ob_start();
look('');
echo str_contains(ob_get_clean(), 'FAILED') ? 'found' : 'missed', "\n";
?>
--EXPECT--
-- the control: the search finds passwords in a trace --
-- the control: the search finds a password that a storage shows --
found

--TEST--
No password is shown when the constructor refuses an argument, and the search finds planted passwords
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

echo "-- malformed arguments --\n";
foreach (PASSWORDS as $kind => $password) {
    $encoded = rawurlencode($password);
    foreach ([
        'malformed: port' => "redis://:$encoded@h:port",
        'malformed: scheme' => "reddis://:$encoded@h",
        'malformed: option' => "unix:///r.sock?passwd=$encoded",
        'malformed: database' => "redis://:$encoded@h/x",
        'malformed: fragment' => "redis://:$encoded#@h",
        'malformed: escape' => "redis://:$encoded%@h",
        'malformed: NUL' => "redis://:$encoded\0@h",
        'malformed: UTF-8' => "redis://:$encoded\xff@h",
    ] as $what => $dsn) {
        Planted::$class = TokenBucketStorageRedis::class;
        Planted::$password = $password;
        Planted::$arguments = ['dsn' => $dsn, 'prefix' => $what, 'timeout' => is_slow() ? 10.0 : 0.5];
        look("$kind: $what");
    }
    Planted::$arguments = ['dsn' => "redis://:$encoded@h", 'timeout' => -1.0];
    look("$kind: timeout");
    Planted::$arguments = ['timeout' => 1.0, 'dsn' => "redis://:$encoded@h", 'denialCacheMaxAge' => -1.0];
    look("$kind: named");
    Planted::$arguments = ['timeout' => 1.0, 'dsn' => "redis://:$encoded@h", 'retries' => 1];
    echo thrown(fn () => Planted::storage(TokenBucket\OnFailure::Local)), "\n";
}
?>
--EXPECT--
-- the control: the search finds passwords in a trace --
-- the control: the search finds a password that a storage shows --
found
-- malformed arguments --
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries

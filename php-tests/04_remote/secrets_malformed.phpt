--TEST--
No password is shown when the constructor refuses the DSN or another argument
--EXTENSIONS--
pcntl
--INI--
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
log_errors=0
--FILE--
<?php
require __DIR__ . '/secrets.inc.php';

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
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries

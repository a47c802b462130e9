--TEST--
Fuzz of constructor options: each gives an object or a documented exception without a password
--EXTENSIONS--
pdo
pdo_sqlite
--INI--
tokenbucket.failure_report=warning
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
--FILE--
<?php
require __DIR__ . '/any_options.inc.php';

any_options(
    20261121,
    4_000,
    TokenBucketStorageRedis::class,
    TokenBucketStorageMemcached::class,
    TokenBucketStoragePDO::class,
);
?>
--EXPECT--
done

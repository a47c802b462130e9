--TEST--
Fuzz of constructor options with ext-memcached: each gives an object or a documented exception
--EXTENSIONS--
igbinary
msgpack
memcached
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip the loader itself, when it loads libmemcached, reads beyond what it has copied'); ?>
--INI--
tokenbucket.failure_report=warning
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
--FILE--
<?php
require __DIR__ . '/any_options.inc.php';

any_options(
    20261122,
    4_000,
    TokenBucketStorageRedis::class,
    TokenBucketStorageMemcached::class,
);
?>
--EXPECT--
done

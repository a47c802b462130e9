--TEST--
A hung memcached delays eight workers by a few timeouts in all, and the limit still holds
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/hung.inc.php';

foreach (Store::each() as $kind => $store) {
    if ($kind === 'Memcached') {
        hang($store);
    }
}
echo "done\n";
?>
--EXPECT--
done

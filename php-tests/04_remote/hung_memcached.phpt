--TEST--
A hung memcached delays eight workers by a few timeouts in all, and the limit still holds
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
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

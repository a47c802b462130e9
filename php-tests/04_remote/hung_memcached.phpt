--TEST--
A hung Memcached costs eight workers its timeout a few times, then next to nothing; limits hold meanwhile
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
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

--TEST--
A planted test whose program is not installed
--FILE--
<?php
require getenv('TESTKIT') . '/check.php';
echo "first\n";
skip_without('no-such-program');
?>
--EXPECT--
first
second

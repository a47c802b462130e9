--TEST--
Is inconclusive twice, and then passes
--FILE--
<?php
require getenv('TESTKIT') . '/check.php';
file_put_contents(__DIR__ . '/tries', '.', FILE_APPEND);
echo "before\n";
filesize(__DIR__ . '/tries') === 3 || inconclusive('planted');
?>
--EXPECT--
before

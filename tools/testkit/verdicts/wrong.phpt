--TEST--
Fails, because it prints a wrong value before it is inconclusive
--FILE--
<?php
require getenv('TESTKIT') . '/check.php';
// A second try would pass.
if (!@mkdir(__DIR__ . "/tried")) {
    exit("right");
}
echo "wrong\n";
inconclusive('planted');
?>
--EXPECT--
right

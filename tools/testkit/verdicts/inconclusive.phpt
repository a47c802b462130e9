--TEST--
Stays inconclusive, after output that is right
--FILE--
<?php
require getenv('TESTKIT') . '/check.php';
alike(['one', 'two'], function (string $name) {
    echo "the same: $name\n";
    $name === 'one' || inconclusive('planted');
});
?>
--EXPECTF--
%s same: …
not reached

--TEST--
The generated declarations match the stub file
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';
echo php_run_bare(dirname(__DIR__, 2) . '/scripts/declare.php', '--check');
?>
--EXPECT--
src/classes.rs and src/declared.rs are up to date.

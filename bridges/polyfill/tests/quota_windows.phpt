--TEST--
The windows of quotas are those of the extension at every change of clocks from 2020 to 2040
--SKIPIF--
<?php
require __DIR__ . '/child.php';
has_extension() || die('skip needs TOKENBUCKET and PHP_OF_EXTENSION');
require __DIR__ . '/../../../tools/testkit/php/skip_slow.php';
?>
--FILE--
<?php
require __DIR__ . '/child.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

// Both run on one PHP, because versions of PHP know different changes of clocks.
$own = run_php([getenv('PHP_OF_EXTENSION'), '-n', '-d', 'auto_prepend_file=' . __DIR__ . '/prepend.php'], __DIR__ . '/windows.inc.php', '0');
$expected = explode("\n", with_extension(__DIR__ . '/windows.inc.php', '0'));
echo implode("\n", array_diff(explode("\n", $own), $expected)), "\n";
check(count($expected) > 400 && substr_count($own, ' 0 ') < 300, "$own");
echo "-- the control: anchors a second later --\n";
print_values(count(array_diff(explode("\n", with_extension(__DIR__ . '/windows.inc.php', '1')), $expected)) > 100);
?>
--EXPECT--

-- the control: anchors a second later --
true

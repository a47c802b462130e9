--TEST--
Nothing is declared if the extension is loaded
--SKIPIF--
<?php
require __DIR__ . '/child.php';
has_extension() || die('skip needs TOKENBUCKET and PHP_OF_EXTENSION');
?>
--FILE--
<?php
require __DIR__ . '/child.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

$script = __DIR__ . '/guarded.inc.php';
print_values(with_extension($script), with_polyfill($script));
$version = ['version' => explode(' ', with_extension($script))[2]];
print_values($version['version'] === TokenBucket\Polyfill\Settings::VERSION);
?>
--EXPECTF--
'internal 0 %s false' 'user 1 %s true'
true

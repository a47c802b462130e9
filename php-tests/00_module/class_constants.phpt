--TEST--
TokenBucket has the constants of the userland class
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$native = (new ReflectionClass('TokenBucket'))->getConstants();
$userland = (new ReflectionClass('UserlandTokenBucket'))->getConstants();
print_values($native, $native === $userland);
print_values(extension_loaded('tokenbucket'), (bool) preg_match('/^\d+\.\d+\.\d+/', phpversion('tokenbucket')));
?>
--EXPECT--
['MILLISECOND' => 0.001, 'SECOND' => 1, 'MINUTE' => 60, 'HOUR' => 3600, 'DAY' => 86400, 'WEEK' => 604800, 'MICROTIME_DELTA' => 0.0001] true
true true

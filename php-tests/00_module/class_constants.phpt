--TEST--
TokenBucket has the constants of the userland class
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/userland_bucket.php';

$native = (new ReflectionClass('TokenBucket'))->getConstants();
$userland = (new ReflectionClass('UserlandTokenBucket'))->getConstants();
var_dump($native);
var_dump($native === $userland);
var_dump(extension_loaded('tokenbucket'), (bool) preg_match('/^\d+\.\d+\.\d+/', phpversion('tokenbucket')));
?>
--EXPECT--
array(7) {
  ["MILLISECOND"]=>
  float(0.001)
  ["SECOND"]=>
  int(1)
  ["MINUTE"]=>
  int(60)
  ["HOUR"]=>
  int(3600)
  ["DAY"]=>
  int(86400)
  ["WEEK"]=>
  int(604800)
  ["MICROTIME_DELTA"]=>
  float(0.0001)
}
bool(true)
bool(true)
bool(true)

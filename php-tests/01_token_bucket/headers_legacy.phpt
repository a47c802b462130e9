--TEST--
Decision::headers() returns the older X-RateLimit fields on request
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$bucket = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 2);
$before = time();
$headers = $bucket->attempt(5)->headers(legacy: true);
$after = time();
echo implode(' ', array_keys($headers)), "\n";
dump($headers['X-RateLimit-Limit'], $headers['X-RateLimit-Remaining']);
$reset = $headers['X-RateLimit-Reset'];
// Five tokens are refilled after 2.5 seconds.
dump(is_string($reset), preg_match("/^\d+$/D", $reset) === 1);
dump($reset >= $before + 2 && $reset <= $after + 4);

// Two seconds would be enough, but Retry-After is at least the three seconds of the RateLimit
// field.
$headers = $bucket->attempt(9)->headers('default', true);
echo implode(' ', array_keys($headers)), "\n";
dump($headers['X-RateLimit-Remaining'], $headers['Retry-After']);
dump(array_keys($bucket->peek()->headers()));
?>
--EXPECT--
RateLimit-Policy RateLimit X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset
'10' '5'
true true
true
RateLimit-Policy RateLimit Retry-After X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset
'5' '3'
['RateLimit-Policy', 'RateLimit']

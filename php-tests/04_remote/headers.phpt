--TEST--
headers() shows the whole seconds of a quota, although its span is rounded to microseconds
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = RedisServer::start();
$storage = new TokenBucketStorageRedis("unix://$server->socket", timeout: 5.0);
foreach ([[1, 1], [7, 60], [10, 60], [59, 60], [999, 60], [1000, 86400], [7, 604800], [1_000_000, 60], [1_000_000, 1]] as [$n, $seconds]) {
    $fields = (new TokenBucket($storage, "$n in $seconds", $n, $n / $seconds))->peek()->headers();
    check($fields['RateLimit-Policy'] === "\"default\";q=$n;w=$seconds", $fields['RateLimit-Policy']);
    check($fields['RateLimit'] === "\"default\";r=$n;t=$seconds", $fields['RateLimit']);
}
// This span exceeds a minute by more than rounding can add.
$fields = (new TokenBucket($storage, 'a little longer', 10, 10 / 60.1))->peek()->headers();
echo $fields['RateLimit-Policy'], "\n";
?>
--EXPECT--
"default";q=10;w=61

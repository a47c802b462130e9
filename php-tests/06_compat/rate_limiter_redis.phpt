--TEST--
RateLimiter on Redis writes records that expire, and rejects foreign data
--EXTENSIONS--
igbinary
redis
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\Compat\RateLimiter;
use TokenBucket\OnFailure;

$server = RedisServer::start();
$dsn = "redis://127.0.0.1:$server->port";
$storage = new TokenBucketStorageRedis($dsn, 'unused:', PATIENCE, OnFailure::Throw);
$limiter = fn (string $key): RateLimiter => [$limiter = new RateLimiter($key, 30, 6000), $limiter->redis = $storage][0];

// The record has the key without a prefix, and it expires. Whole numbers have no fraction.
// A token takes 200 s.
$start = microtime(true);
$a = $limiter('user 1');
check($a->handler() && $server->command('KEYS', '*') === ['user 1'], 'the raw key');
$record = $server->command('GET', 'user 1');
check(preg_match('/^\{"num":29,"time":\d{10}(\.\d{1,6})?\}$/', $record) === 1, "a first record: $record");
$life = $server->command('PTTL', 'user 1');
check($life > 200_000 - 1000 * (microtime(true) - $start) && $life <= 201_000, "lives until full, and a second: $life");
for ($allowed = 1; $a->handler(); $allowed++) {
}
check($allowed === 30, "a burst: $allowed");
$record = $server->command('GET', 'user 1');
$life = $server->command('PTTL', 'user 1');
check($life > 6_000_000 - 1000 * (microtime(true) - $start) && $life <= 6_001_000, "empty, it lives longest: $life");
check(!$a->handler() && $server->command('GET', 'user 1') === $record, 'a denial writes nothing');
check($server->command('PTTL', 'user 1') <= $life, 'nor does it prolong');
$time = json_decode($record)->time;
check($time >= $start - 1 && $time <= microtime(true) + 1, 'the server\'s time');

// Valid records are used, whichever program wrote them.
$write = fn (string $record) => $server->command('SET', 'key', $record);
$now = time();
foreach ([
    ['{"num":5,"time":' . $now . '}', 5], [" {\"time\": $now.0e0,\n\"num\": \"2.5\"} ", 2], ['{"num":3,"time":' . ($now + 60_000) . '}', 0],
    ['{"num":400,"time":' . $now . '}', 30], ['{"num":-1e15,"time":' . ($now - 12_100) . '}', 30],
] as [$record, $expected]) {
    $write($record);
    $allowed = count(array_filter(range(1, 40), fn () => $limiter('key')->handler()));
    check($allowed === $expected, "$record: $allowed");
}
check($server->command('PTTL', 'key') > 1000, 'it gets an end');

// Invalid records are rejected and left unchanged.
$foreign = [
    '', '0', 'x', '{}', '[]', 'null', '5', '{"num":5}', '{"time":5}', '[5,5]', '{"num":5,"time":' . $now, '{"num":null,"time":5}',
    '{"num":0x10,"time":5}', '{"num":"x","time":5}', '{"num":"0x10","time":5}', '{"num":5,"time":5,"more":1}', '{"num":[],"time":5}', '{"num":NaN,"time":5}',
    '{"num":1e999,"time":5}', '{"num":5,"time":1e300}', '{"num":5,"time":-1}', '{"num":5,"time":1700000000000}', "{\"num\":5,\"time\":5}\0",
    's:23:"{\"num\":29,\"time\":17}"', str_repeat('[', 5000), '{"num":5,"time":nan}', '{"num":5,"time":inf}', '{"num":true,"time":5}',
];
foreach ($foreign as $record) {
    $write($record);
    $said = thrown(fn () => $limiter('key')->handler());
    $shown = substr($record, 0, 40);
    check($said === "TokenBucket\\StorageException: $dsn/0: the key does not hold a record of this limiter", "$shown: $said");
    check($server->command('GET', 'key') === $record && $server->command('PTTL', 'key') === -1, "left alone: $shown");
}
$server->command('DEL', 'key');
$server->command('RPUSH', 'key', 'one');
check(str_contains(thrown(fn () => $limiter('key')->handler()), 'record of this limiter'), 'a list');
check($server->command('LRANGE', 'key', '0', '-1') === ['one'], 'the list is left alone');
// Foreign data under one key is an error of that key, and not an outage of the store.
check($limiter('healthy')->handler(), 'other keys work');
echo "done\n";
?>
--EXPECT--
done

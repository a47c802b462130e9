--TEST--
RateLimiter on Redis writes records that expire, and rejects foreign data as onFailure says
--EXTENSIONS--
igbinary
redis
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\Compat\RateLimiter;
use TokenBucket\OnFailure;

$server = RedisServer::start();
$dsn = "redis://127.0.0.1:$server->port";
$storage = fn (OnFailure $policy) => new TokenBucketStorageRedis($dsn, 'unused:', PATIENCE, $policy);
$limiter = fn (string $key, $num = 30, $expire = 6000, OnFailure $policy = OnFailure::Throw): RateLimiter
    => [$limiter = new RateLimiter($key, $num, $expire), $limiter->redis = $storage($policy)][0];

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
$burst = function (int $num = 30, int $expire = 6000) use ($limiter): int {
    $limiter = $limiter('key', $num, $expire);
    for ($allowed = 0; $limiter->handler(); $allowed++) {
    }
    return $allowed;
};
$now = time();
foreach ([
    ['{"num":5,"time":' . $now . '}', 5], ['{"time":' . $now . ',"num":5.5}', 5], ['{"num":"5","time":' . $now . '}', 5],
    ['{"num":0.01,"time":' . $now . '}', 0], ['{"num":29,"time":' . ($now - 100) . '}', 29],
    ['{"num":400,"time":' . $now . '}', 30], ['{"num":3,"time":' . ($now + 60_000) . '}', 0],
    [" {\"num\": 2,\n\"time\": $now.0e0} ", 2], ['{"num":-3,"time":' . $now . '}', 0],
    ['{"num":-1e15,"time":' . ($now - 12_100) . '}', 30], ['{"num":0,"time":1}', 30],
] as [$record, $expected]) {
    $write($record);
    $allowed = $burst();
    check($allowed === $expected, "$record: $allowed");
}
$write('{"num":5,"time":' . $now . '}');
check($server->command('PTTL', 'key') === -1 && $burst() === 5 && $server->command('PTTL', 'key') > 1000, 'it gets an end');

// Invalid records are rejected and left unchanged.
$foreign = [
    '', '0', 'x', '{}', '[]', 'null', '5', '{"num":5}', '{"time":5}', '[5,5]', '{"num":5,"time":' . $now, '{"num":null,"time":5}',
    '{"num":0x10,"time":5}', '{"num":"x","time":5}', '{"num":"0x10","time":5}', '{"num":5,"time":5,"more":1}', '{"num":[],"time":5}', '{"num":NaN,"time":5}',
    '{"num":1e999,"time":5}', '{"num":5,"time":1e300}', '{"num":5,"time":-1}', '{"num":5,"time":1700000000000}', "{\"num\":5,\"time\":5}\0",
    's:23:"{\"num\":29,\"time\":17}"', str_repeat('[', 5000), '{"num":5,"time":nan}', '{"num":5,"time":inf}', '{"num":true,"time":5}',
];
$warnings = [];
set_error_handler(function (int $level, string $message) use (&$warnings): bool {
    $warnings[] = $message;
    return true;
});
foreach ($foreign as $record) {
    $write($record);
    $said = thrown(fn () => $limiter('key')->handler());
    $shown = substr($record, 0, 40);
    check($said === "TokenBucket\\StorageException: $dsn/0: the key does not hold a record of this limiter", "$shown: $said");
    check($limiter('key', policy: OnFailure::Deny)->handler() === false, "denied: $shown");
    check($limiter('key', policy: OnFailure::Allow)->handler() === true, "allowed: $shown");
    check($server->command('GET', 'key') === $record && $server->command('PTTL', 'key') === -1, "left alone: $shown");
}
restore_error_handler();
check(count($warnings) === 1 && str_contains($warnings[0], 'record of this limiter'), 'one warning a minute: ' . implode("\n", $warnings));
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

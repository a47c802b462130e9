--TEST--
RateLimiter on Redis uses any valid record and leaves other data unchanged
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

const CAPACITY = 5;
const EXPIRE = 3600;

/** Returns the tokens and the time of a record, or null if the record is invalid. */
function bucket(string $record): ?array
{
    $fields = json_decode($record, false);
    $fields = $fields instanceof stdClass ? get_object_vars($fields) : [];
    $number = function (mixed $value): ?float {
        $is_number = is_int($value) || is_float($value) || is_string($value) && preg_match('/^-?\d+\.?\d*$/D', $value);
        return $is_number ? (float) $value : null;
    };
    $num = $number($fields['num'] ?? null);
    $time = $number($fields['time'] ?? null);
    if (count($fields) !== 2 || $num === null || $time === null) {
        return null;
    }
    return abs($num) < 2 ** 52 && $time >= 0 && $time < 2 ** 52 / 1e6 ? [$num, $time] : null;
}

/** Returns the tokens that a bucket holds at the Unix time $now. */
function tokens(array $bucket, float $now): float
{
    [$num, $time] = $bucket;
    return min(CAPACITY, max(-CAPACITY, min(CAPACITY, $num)) + ($now - $time) * CAPACITY / EXPIRE);
}

function any(array $values): mixed
{
    return $values[mt_rand(0, count($values) - 1)];
}

/** Returns a random record: valid, nearly valid, or damaged. */
function record(int $now): string
{
    $numbers = [
        '0', '1', '-1', '5', '4.25', '1e0', '50e-1', '1E+1', '-0', '-0.0', '"3"', '"2.5"', '"-1."', '1e15', '-1e15', '1e16', '1e999', '-1e999', '1e-400',
        '01', '+5', '5.', '.5', '-', '--5', '1e', '0b1', '0o7', '0x5', 'nan', 'NaN', '-nan', 'inf', 'Infinity', '-Infinity', '1_000', "5\u{a0}", '"+5"', '"5 "', '" 5"',
        '"5\n"', '"1e3"', '"0x5"', '""', '"NaN"', 'null', 'true', 'false', '[]', '[5]', '{}', '{"num":5}', '4503599627370495', '4503599627370496', '9007199254740993',
        str_repeat('9', mt_rand(10, 400)), '0.' . str_repeat('3', mt_rand(10, 400)),
    ];
    $times = ["$now", "$now.5", '"' . $now . '"', $now - 720, $now - 3600, $now + 720, $now . 'e0', '0', '1', "{$now}000", '4503599627.370495', '4503599627.370496'];
    $members = [['"num"', any(mt_rand(0, 2) ? ['5', '0', '1.5', '"0.75"'] : $numbers)], ['"time"', any(mt_rand(0, 9) ? $times : $numbers)]];
    match (mt_rand(0, 24)) {
        0 => $members[] = [any(['"num"', '"time"', '"more"', '""']), any($numbers)],
        1 => $members[0][0] = any(['"\u006eum"', '"NUM"', '"num\u0000"', 'num', "'num'", '5', 'null']),
        2 => array_pop($members),
        3 => $members = array_reverse($members),
        default => null,
    };
    $space = fn () => mt_rand(0, 40) ? '' : any([' ', "\n", "\t", "\r", "\v", "\f", "\0", "\u{feff}", '/**/']);
    $texts = array_map(fn ($member) => $space() . implode(any([':', ':', ':', ':', ':', ':', ':', ' : ', "\n:", '=']), $member) . $space(), $members);
    $text = $space() . '{' . implode(mt_rand(0, 30) ? ',' : any([';', ',,', '']), $texts) . (mt_rand(0, 30) ? '' : ',') . '}' . $space();
    for ($damage = mt_rand(-7, 2); $damage > 0; $damage--) {
        $at = mt_rand(0, strlen($text));
        $text = match (mt_rand(0, 3)) {
            0 => substr($text, 0, $at),
            1 => substr($text, 0, $at) . chr(mt_rand(0, 255)) . substr($text, $at),
            2 => substr($text, 0, $at) . any(['"', '\\', '{', '}', ',', '0', '-', 'e', '.']) . substr($text, $at + 1),
            3 => substr($text, 0, $at) . substr($text, $at + 1),
        };
    }
    return mt_rand(0, 40) ? $text : any(["[$text]", "\"$text\"", $text . $text, str_repeat('[', 2000) . $text, json_encode($text, JSON_INVALID_UTF8_SUBSTITUTE)]);
}

$server = RedisServer::start();
$redis = new Redis;
$redis->connect('127.0.0.1', $server->port);
$limiters = [];
foreach ([OnFailure::Throw, OnFailure::Deny, OnFailure::Allow] as $policy) {
    $limiter = $limiters[] = new RateLimiter('key', CAPACITY, EXPIRE);
    $limiter->redis = new TokenBucketStorageRedis("redis://127.0.0.1:$server->port", timeout: PATIENCE, onFailure: $policy);
}
$refused = 'the key does not hold a record of this limiter';
set_error_handler(fn (int $level, string $message) => check(str_contains($message, $refused), $message) ?? true);

mt_srand(20261121);
$met = ['foreign' => 0, 'granted' => 0, 'denied' => 0];
$rounds = is_slow() ? 500 : 10_000;
for ($i = 0; $i < $rounds; $i++) {
    $record = record(time());
    $redis->set('key', $record);
    $bucket = bucket($record);
    $before = microtime(true);
    [$answer, $said] = [null, ''];
    try {
        $answer = $limiters[$i % 3]->handler();
    } catch (TokenBucket\StorageException $e) {
        $said = $e->getMessage();
    }
    $after = $redis->get('key');
    $shown = substr(addcslashes($record, "\0..\37\177..\377"), 0, 200);
    $expected = [null, false, true][$i % 3];
    // A record that has a member twice may be accepted or rejected.
    $is_twice = substr_count($record, '"num"') > 1 || substr_count($record, '"time"') > 1;
    if ($bucket === null || $is_twice && $answer === $expected && $after === $record) {
        $met['foreign']++;
        check($answer === $expected && str_ends_with($said, $expected === null ? $refused : ''), "foreign, yet: $shown");
        check($after === $record && $redis->ttl('key') === -1, "foreign, yet changed: $shown");
        continue;
    }
    $held = tokens($bucket, $before);
    check($said === '' && is_bool($answer), "a bucket, yet: $shown: $said");
    // Allows for the milliseconds of the call, which refill less than a hundredth of a token.
    check(abs($held - 1) < 0.01 || $answer === $held >= 1, "it holds $held: $shown");
    $met[$answer ? 'granted' : 'denied']++;
    if (!$answer) {
        check($after === $record, "denied, yet changed: $shown");
        continue;
    }
    $left = bucket($after);
    check($left !== null && abs(tokens($left, microtime(true)) - ($held - 1)) < 0.01, "it held $held, and then: $after");
    check($redis->ttl('key') > 0, 'what is written has an end');
}
check(min($met) > $rounds / 20, 'of each kind there are many: ' . json_encode($met));
echo "done\n";
?>
--EXPECT--
done

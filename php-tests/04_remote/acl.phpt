--TEST--
The documented ACL is enough on Redis, and an error names a missing command
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$commands = ['+evalsha', '+eval', '+get', '+set', '+time', '+pttl'];
$allow = fn (array $commands) => $redis->command('ACL', 'SETUSER', 'limiter', 'reset', 'on', '>secret', '~tokenbucket:*', ...$commands);
$storage = fn (string $prefix = 'tokenbucket:') => new TokenBucketStorageRedis(
    "unix://$redis->socket?user=limiter&password=secret", $prefix, PATIENCE, TokenBucket\OnFailure::Throw, false,
);
$bucket = new TokenBucket($storage(), 'x', 5, 0.001);
$allow($commands);
$redis->command('SCRIPT', 'FLUSH');
check($bucket->consume() && $bucket->attempt(4)->allowed && !$bucket->attempt()->allowed, 'takes');
$bucket->refund();
check($bucket->peek()->remaining === 1.0, 'refund');
$bucket->reset();
check(TokenBucket::attemptAll([$bucket, [$bucket, 2]])->allowed, 'attemptAll()');
check(TokenBucket::attemptEach([$bucket])[0]->allowed, 'attemptEach()');
check($bucket->reserve(0.0)->decision->allowed, 'reserve()');
foreach ($commands as $missing) {
    $redis->command('FLUSHALL');
    $redis->command('SCRIPT', 'FLUSH');
    $allow(array_values(array_diff($commands, [$missing])));
    $message = thrown(fn () => $bucket->consume());
    $allow($commands);
    // Each success resets the count of failures, so the breaker never opens.
    check($bucket->consume(), 'allowed again');
    echo "$missing: ", strstr($message, 'NOPERM') ?: $message, "\n";
}
// Without TIME, Redis 7 derives its clock.
if (RedisServer::major_version() >= 7) {
    $redis->command('FLUSHALL');
    $allow([...array_diff($commands, ['+time']), '+pexpiretime', '+pexpire', '+persist', '+del']);
    check($bucket->consume(2) && $bucket->consume(2), 'takes');
    check([$bucket->attempt(2)->allowed, $bucket->peek()->remaining] === [false, 1.0], 'denies');
    $redis->command('PERSIST', 'tokenbucket:x');
    check($bucket->consume() && $redis->command('TTL', 'tokenbucket:x') === -1, 'a record without expiry');
    $other = new TokenBucket($storage(), 'y', 5, 0.001);
    check($other->peek()->remaining === 5.0 && $redis->command('EXISTS', 'tokenbucket:y') === 0, 'peek() leaves no record');
    check(!TokenBucket::attemptAll([$other, $bucket])->allowed && $redis->command('EXISTS', 'tokenbucket:y') === 0, 'attemptAll()');
    $quota = new TokenBucket\Quota($storage(), 'quota', 2, TokenBucket\Period::Year);
    check($quota->consume() && $quota->consume() && !$quota->consume(), 'a quota');
    $bucket->reset();
    check($bucket->consume(5) && !$bucket->consume(), 'reset()');
    $allow([
        ...array_diff($commands, ['+time']), '+pexpiretime', '+pexpire', '+persist', '+del', '+exists', '+zadd', '+zcard',
        '+zincrby', '+zinterstore', '+zrange', '+zrangebyscore', '+zrem', '+zremrangebyrank', '+zremrangebyscore', '+zscore',
        '~set*', '~locked', '~lock:*',
    ]);
    $lockout = new TokenBucket\Lockout($storage(), 'lockout', 2, 60.0);
    check($lockout->attempt()->allowed && $lockout->attempt()->allowed && !$lockout->attempt()->allowed, 'a lockout');
    $limit = new TokenBucket\ConcurrencyLimit($storage(), 'permits', 2);
    $permits = [$limit->acquire(), $limit->acquire(), $limit->acquire()];
    check(array_map(fn ($permit) => $permit->decision->allowed, $permits) === [true, true, false], 'permits');
    check($permits[1]->renew() && $permits[1]->release() === null && $limit->held() === 1, 'a permit given back');
    $permits[0]->release();
    $leaky = new TokenBucket\Compat\LeakyBucket($storage(), 60, 2);
    $leaky->cleanup();
    check([$leaky->request('x', 'y'), $leaky->request('x', 'y'), $leaky->request('x', 'y')] === [true, true, false], 'a leaky bucket');
    $leaky->cleanup();
}
$allow($commands);
echo strstr(thrown(fn () => (new TokenBucket($storage('other:'), 'x', 5, 1))->consume()), 'NOPERM'), "\n";
?>
--EXPECTREGEX--
\+evalsha: NOPERM .*'evalsha'.*
\+eval: NOPERM .*'eval'.*
\+get: NOPERM .*'get'.*
\+set: NOPERM .*'set'.*
\+time: NOPERM .*'time'.*
\+pttl: NOPERM .*'pttl'.*
NOPERM .*key.*

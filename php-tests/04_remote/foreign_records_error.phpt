--TEST--
A key with foreign data is reported and left unchanged while the failure policy decides
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

Warnings::collect();
foreach (Store::each() as $kind => $store) {
    $server = $store->server;
    $values = ['text' => 'hello', 'empty' => '', 'spaces' => ' 5', 'sign' => '-5', 'fraction' => '1.5', 'exponent' => '1e15',
        'too long' => str_repeat('1', 17), 'too great' => '4503599627370497', 'newline' => "1\n", 'NUL' => "1\0", 'hexadecimal' => '0x1f', 'nan' => 'nan',
        'paid debt' => '5:6', 'no span' => '6:5:', 'other span' => '6:5:x', 'four numbers' => '6:5:4:3'];
    $dump = $kind === 'Redis'
        ? fn (string $key) => $server->command('DUMP', $key) . $server->command('PTTL', $key)
        : fn (string $key) => implode("\n", $server->command("gets $key", 'END'));
    if ($kind === 'Redis') {
        $values += ['list' => 1, 'hash' => 2, 'set' => 3, 'sorted set' => 4, 'stream' => 5];
    }
    foreach ($values as $name => $value) {
        $name = strtr($name, ' ', '_');
        $key = "p:$name";
        match (true) {
            $kind === 'Memcached' => $server->command("set $key 7 0 " . strlen($value) . "\r\n$value", 'STORED'),
            $value === 1 => $server->command('RPUSH', $key, '1', '2'),
            $value === 2 => $server->command('HSET', $key, 'a', '1'),
            $value === 3 => $server->command('SADD', $key, 'a'),
            $value === 4 => $server->command('ZADD', $key, '1', 'a'),
            $value === 5 => $server->command('XADD', $key, '1-1', 'a', 'b'),
            default => $server->command('SET', $key, $value),
        };
        $before = $dump($key);
        check(strlen($before) > 1, "$kind: $name is there");
        foreach (OnFailure::cases() as $policy) {
            $class = "TokenBucketStorage$kind";
            $bucket = new TokenBucket(new $class("unix://$server->socket", 'p:', PATIENCE, $policy), $name, 2, 0.001);
            $granted = 0;
            foreach (['consume', 'attempt', 'peek', 'refund', 'drain', 'reset', 'consume', 'consume', 'consume'] as $method) {
                try {
                    $answer = $bucket->$method();
                    $granted += (int) ($method === 'consume' && $answer);
                    check($policy !== OnFailure::Throw, "$kind: $name: $method() did not throw");
                } catch (TokenBucket\StorageException $e) {
                    check($policy === OnFailure::Throw, "$kind: $name: $method() threw");
                    check(str_ends_with($e->getMessage(), 'the key does not hold a record of this limiter'), $e->getMessage());
                }
            }
            // With Local, consume() is granted once before reset() and twice after it.
            $expected = ['Local' => 3, 'Allow' => 4, 'Deny' => 0, 'Throw' => 0][$policy->name];
            check($granted === $expected, "$kind: $name: $policy->name: $granted granted");
            check($dump($key) === $before, "$kind: $name: $policy->name: the record is changed");
        }
        $others = new TokenBucket($store->storage(OnFailure::Throw), "beside $name", 2, 0.001);
        check($others->consume() && $others->peek()->remaining === 1.0, "$kind: other buckets are fine");
        check(TokenBucket::attemptAll([$others], 1)->allowed, "$kind: other buckets are fine");
    }
    // The greatest valid record is an empty bucket.
    $put = fn (string $key, string $value) => $kind === 'Redis' ? $server->command('SET', "p:$key", $value) : $server->command("set p:$key 0 0 " . strlen($value) . "\r\n$value", 'STORED');
    $put('greatest', '4503599627370496');
    check(!$store->bucket(OnFailure::Throw, 'greatest')->consume(), "$kind: the greatest record");
    // The connection to memcached caches the item, and must notice that the item has changed.
    $changed = $store->bucket(OnFailure::Throw, 'changed');
    check($changed->consume(), "$kind: before the change");
    $put('changed', 'hello');
    check(str_contains(thrown(fn () => $changed->consume()), 'the key does not hold a record'), "$kind: after the change");
    check(str_contains(thrown(fn () => $store->storage(OnFailure::Throw)->bootstrap('text', microtime(true))), 'the key does not hold a record'), "$kind: bootstrap()");
    $mixed = [new TokenBucket($store->storage(OnFailure::Throw), 'good', 2, 0.001), new TokenBucket($store->storage(OnFailure::Throw), 'text', 2, 0.001)];
    echo Warnings::plain(thrown(fn () => TokenBucket::attemptAll($mixed))), "\n";
    check($mixed[0]->peek()->remaining === 2.0, "$kind: attemptAll() takes nothing");
    // A value of 200 kB, more than all other replies of the pipeline, affects only its own bucket.
    $long = str_repeat('x', 200_000);
    $put('long', $long);
    $storage = new ("TokenBucketStorage$kind")("unix://$server->socket", 'p:', PATIENCE, OnFailure::Deny);
    $each = TokenBucket::attemptEach(array_map(fn ($name) => new TokenBucket($storage, $name, 2, 0.001), ['a', 'long', 'b', 'text', 'c']));
    echo implode(' ', array_column($each, 'reason')), "\n";
    $state = $store->state();
    check(($state['causes']['record'] ?? 0) > 100, "$kind: counted: " . json_encode($state['causes']));
    check($state['breaker'] === 'closed' && $state['failures'] === 0 && $state['opened'] === 0, "$kind: the store is not to blame: " . json_encode($state));
    // Removes the text after the semicolon, because that text depends on the failure policy.
    echo implode("\n", array_unique(preg_replace(['/;.*/', '/::\w+/'], '', Warnings::take()))), "\n";

    echo "-- an outage of the server still causes a warning --\n";
    $server->kill();
    $store->bucket(OnFailure::Local, 'later')->consume();
    foreach (Warnings::take() as $warning) {
        echo $warning, "\n";
    }
    $server->restart();
    check($store->is_back(), 'back');
}
$remote = TokenBucket\status()['remote'];
check($remote['failed'] === 2 && $remote['opened'] === 0, json_encode($remote));
?>
--EXPECT--
TokenBucket\StorageException: unix:redis.sock?db=0: the key does not hold a record of this limiter
granted unavailable granted unavailable granted
Warning: TokenBucket(): unix:redis.sock?db=0: the key does not hold a record of this limiter
-- an outage of the server still causes a warning --
Warning: TokenBucket::consume(): unix:redis.sock?db=0: cannot connect: Connection refused (os error); using shared memory of this host until it recovers
TokenBucket\StorageException: memcached at unix:memcached.sock: the key does not hold a record of this limiter
granted unavailable granted unavailable granted
Warning: TokenBucket(): memcached at unix:memcached.sock: the key does not hold a record of this limiter
-- an outage of the server still causes a warning --
Warning: TokenBucket::consume(): memcached at unix:memcached.sock: cannot connect: Connection refused (os error); using shared memory of this host until it recovers

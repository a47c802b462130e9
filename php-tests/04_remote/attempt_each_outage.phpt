--TEST--
When a server fails, attemptEach() and attemptAll() decide each bucket by its own failure policy
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

/** The timeout of calls that get no reply, in seconds. */
const TIMEOUT = 0.2;

$reports = [];
set_error_handler(function (int $level, string $message) use (&$reports): bool {
    $reports[] = $message;
    return $level === E_WARNING;
});
$servers = ['Redis' => RedisServer::start(), 'Memcached' => MemcachedServer::startTcp()];
$said = fn (array $decisions) => implode(', ', array_map(fn ($it) => "$it->reason" . ($it->fallback ? ' by policy' : ''), $decisions));
foreach ($servers as $kind => $server) {
    echo "-- $kind --\n";
    // Each proxy acts as another server, which has its own breaker.
    $start = function (string $prefix, float $timeout = PATIENCE) use ($kind, $server): array {
        $proxy = new Proxy("tcp://127.0.0.1:$server->port");
        $class = "TokenBucketStorage$kind";
        $address = ($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port";
        $bucket = fn (OnFailure $policy, string $name = 'x') => new TokenBucket(
            new $class($address, $prefix, $timeout, $policy, false), $name, 3, 1e-6,
        );
        $direct = new $class(str_replace($proxy->port, $server->port, $address), $prefix, PATIENCE, OnFailure::Throw, false);
        wait_for('the bucket connects', fn () => !$bucket(OnFailure::Local, 'connects')->peek()->fallback);
        return [$proxy, $bucket, fn (string $name) => (new TokenBucket($direct, $name, 3, 1e-6))->peek()->remaining];
    };
    $failed = fn () => TokenBucket\status()['remote']['failed'];
    $policies = ['l' => OnFailure::Local, 'a' => OnFailure::Allow, 'd' => OnFailure::Deny, 'm' => OnFailure::Local];

    [$proxy, $bucket, $left] = $start('hung:', TIMEOUT);
    $proxy->set(Proxy::SWALLOW_REPLIES);
    $before = [$failed(), $proxy->counts()['connections']];
    $all = array_map(fn ($policy, $name) => $bucket($policy, $name), $policies, array_keys($policies));
    $reports = [];
    echo 'hung: ', $said(TokenBucket::attemptEach([...$all, $all[0], $all[0], $all[0]])), "\n";
    // The missing replies of one call count as one failure.
    check($failed() - $before[0] === 1, 'one timeout: ' . ($failed() - $before[0]));
    check($proxy->counts()['connections'] === $before[1], 'no other connection');
    check(count($reports) === 1 && str_contains($reports[0], 'no reply within the timeout; using shared memory'), json_encode($reports));
    // The server executes each request once. The bucket "l" was in four requests.
    $left_now = fn () => array_map($left, array_keys($policies));
    wait_for('the server has executed all requests', fn () => array_sum($left_now()) <= 6);
    check($left_now() === [0.0, 2.0, 2.0, 2.0], 'sent once: ' . json_encode($left_now()));

    // The check waits longer for the server that hangs than the other's timeout.
    [$proxy, $hung] = $start('long:', 2.5);
    [, $bucket, $left] = $start('short:', 1.0);
    $proxy->set(Proxy::SWALLOW_REPLIES);
    $decision = TokenBucket::attemptAll([$hung(OnFailure::Allow), $bucket(OnFailure::Deny)]);
    check($decision->allowed && $left('x') === 2.0, "beside a longer timeout: $decision->reason");

    [$proxy, $bucket, $left] = $start('half:');
    $proxy->set(Proxy::HALF_REPLY);
    $all = array_map(fn ($name) => $bucket(OnFailure::Deny, $name), range(1, 20));
    $decisions = TokenBucket::attemptEach($all);
    $fallbacks = array_keys(array_filter(array_column($decisions, 'fallback')));
    check(count($fallbacks) > 3 && count($fallbacks) < 17, 'some were answered: ' . json_encode($fallbacks));
    check($fallbacks === range(20 - count($fallbacks), 19), 'the last ones were not');
    check(array_map($left, range(1, 20)) === array_fill(0, 20, 2.0), 'sent once');

    [$proxy, $bucket, $left] = $start('throw:', TIMEOUT);
    $memory = new TokenBucket(new TokenBucketStorageMemory, 'x', 3, 1);
    $shared = new TokenBucket(new TokenBucketStorageSharedMemory("$kind each"), 'x', 3, 1e-6);
    $proxy->set(Proxy::SWALLOW_REQUESTS);
    foreach ([[OnFailure::Local, OnFailure::Throw], [OnFailure::Throw, OnFailure::Local]] as [$one, $two]) {
        $call = fn () => TokenBucket::attemptEach([[$memory, 2], [$shared, 2], $bucket($one, 'one'), $bucket($two, 'two')]);
        echo preg_replace('/\d{4,}/', 'PORT', thrown($call)), "\n";
    }
    check([$memory->peek()->remaining, $shared->peek()->remaining] === [3.0, 3.0], 'given back');
    // The breaker opens after three failures. Then a call contacts the server at most once, as a
    // probe, and on a quick machine not at all.
    $bucket(OnFailure::Deny)->consume();
    for ($round = 0, $contacts = 1; $round < 100 && $contacts > 0; $round++) {
        $before = $failed();
        $decisions = $said(TokenBucket::attemptEach([$bucket(OnFailure::Local, "fresh $round"), $bucket(OnFailure::Deny)]));
        $contacts = $failed() - $before;
        check($contacts <= 1, "$contacts contacts");
    }
    check($contacts === 0, 'an open breaker lets each call through');
    echo "the breaker is open: $decisions\n";

    [$proxy, $bucket, $left] = $start('dead:');
    $proxy->stop();
    [, $alive] = $start('alive:');
    $decisions = TokenBucket::attemptEach([$bucket(OnFailure::Local), $alive(OnFailure::Deny), $bucket(OnFailure::Allow), $memory, $alive(OnFailure::Local)]);
    echo 'one of two servers: ', $said($decisions), "\n";

    [$proxy, $bucket, $left] = $start('foreign:');
    $kind === 'Redis'
        ? $server->command('SET', 'foreign:f', 'hello') && $server->command('LPUSH', 'foreign:g', '1')
        : array_map(fn ($name) => $server->command("set foreign:$name 0 0 5\r\nhello", 'STORED'), ['f', 'g']);
    $mixed = array_map(fn ($name) => $bucket(OnFailure::Deny, $name), ['a', 'f', 'b', 'g', 'c']);
    echo 'foreign records: ', $said(TokenBucket::attemptEach($mixed)), "\n";
    check($proxy->counts()['connections'] === 1, 'the connection is kept');
    echo preg_replace('/\d{4,}/', 'PORT', thrown(fn () => TokenBucket::attemptEach([$bucket(OnFailure::Throw, 'a'), $bucket(OnFailure::Throw, 'f')]))), "\n";
    check($left('a') === 2.0, 'given back');
}
?>
--EXPECT--
-- Redis --
hung: granted by policy, granted by policy, unavailable by policy, granted by policy, granted by policy, granted by policy, insufficient_tokens by policy
TokenBucket\StorageException: redis://127.0.0.1:PORT/0: no reply within the timeout
TokenBucket\StorageException: redis://127.0.0.1:PORT/0: no reply within the timeout
the breaker is open: granted by policy, unavailable by policy
one of two servers: granted by policy, granted, granted by policy, granted, granted
foreign records: granted, unavailable by policy, granted, unavailable by policy, granted
TokenBucket\StorageException: redis://127.0.0.1:PORT/0: the key does not hold a record of this limiter
-- Memcached --
hung: granted by policy, granted by policy, unavailable by policy, granted by policy, granted by policy, granted by policy, insufficient_tokens by policy
TokenBucket\StorageException: memcached at 127.0.0.1:PORT: no reply within the timeout
TokenBucket\StorageException: memcached at 127.0.0.1:PORT: no reply within the timeout
the breaker is open: granted by policy, unavailable by policy
one of two servers: granted by policy, granted, granted by policy, granted, granted
foreign records: granted, unavailable by policy, granted, unavailable by policy, granted
TokenBucket\StorageException: memcached at 127.0.0.1:PORT: the key does not hold a record of this limiter

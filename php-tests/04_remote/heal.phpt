--TEST--
The loss of a record does not refill a denied bucket, but a reset on another host does
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const AGE = 0.3;
// The error of a restored record is at most this timeout, in seconds.
const TIMEOUT = 10.0;

/** Returns the bucket's record on the server, or null. */
function record(ServerProcess $server, string $key): ?string
{
    return $server instanceof RedisServer ? $server->command('GET', $key) : $server->command("get $key", 'END')[1] ?? null;
}

/** Returns how many scripts Redis has run, or how many reads memcached has served. */
function asked(ServerProcess $server): int
{
    if ($server instanceof MemcachedServer) {
        return (int) $server->stats()['cmd_get'];
    }
    preg_match_all('/cmdstat_eval(?:sha)?:calls=(\d+)/', $server->command('INFO', 'commandstats'), $matches);
    return array_sum($matches[1]);
}

foreach (['Redis' => RedisServer::start(), 'Memcached' => MemcachedServer::startUnix()] as $kind => $server) {
    $class = "TokenBucketStorage$kind";
    $address = "unix://$server->socket";
    $make = fn (string $name, bool $denialCache = true) => new TokenBucket(
        new $class($address, 'p:', TIMEOUT, TokenBucket\OnFailure::Throw, $denialCache, AGE), $name, 5, 0.01
    );
    $is = fn (mixed $expected, mixed $found, string $what) => check($expected === $found, "$kind: $what: " . json_encode($found));
    $drain = function (string $name, bool $denialCache = true) use ($make, $is): TokenBucket {
        $bucket = $make($name, $denialCache);
        $is([true, false, false], [$bucket->consume(5), $bucket->consume(), $bucket->consume()], "$name is drained");
        return $bucket;
    };
    $start = hrtime(true);
    [$drained, $both, $refunded, $batched] = [$drain('drained'), $drain('both'), $drain('refunded'), $drain('batched')];
    $uncached = $drain('uncached', false);
    $granted = $make('granted');
    $granted->consume(5);
    $server->restart();
    usleep((int) ((AGE + 0.1) * 1e6));
    $is(null, record($server, 'p:drained'), 'the record is lost');

    $before = asked($server);
    $decision = $drained->attempt();
    $is(false, $decision->allowed, 'denied still');
    $is(1, min(1, asked($server) - $before), 'the server was asked');
    $elapsed = (hrtime(true) - $start) / 1e9;
    check($decision->retryAfter > 100 - $elapsed - TIMEOUT - 1 && $decision->retryAfter <= 100 + $elapsed, "$kind: retryAfter $decision->retryAfter");
    for ($i = 0; $i < 3; $i++) {
        usleep((int) ((AGE + 0.1) * 1e6));
        $is(false, $drained->consume(), 'denied whenever it is asked');
    }
    // This host has no cached denial of these two buckets, so both are full without their records.
    $is(true, $uncached->consume(), 'without a denial cache the loss is a full bucket');
    $is(true, $granted->consume(), 'what was never denied is a full bucket');

    // The refund sends the cached state. The store restores the bucket and then adds the tokens.
    $refunded->refund(2);
    $is([true, true, false], [$refunded->consume(), $refunded->consume(), $refunded->consume()], 'refunded 2 of nothing');
    $fresh = $make('fresh');
    $is(false, TokenBucket::attemptAll([$fresh, $batched])->allowed, 'attemptAll() knows it, too');
    $is(5.0, $fresh->peek()->remaining, 'and takes nothing');

    // A reset on another host writes a record and deletes nothing. The php process acts as another
    // host, because it has another segment.
    php_run(sprintf('(new TokenBucket(new %s(%s, "p:", 30.0), "both", 5, 0.01))->reset();', $class, var_export($address, true)));
    $is('0', record($server, 'p:both'), 'a reset is a record');
    $is([true, true], [$both->consume(4), $both->consume()], 'reset elsewhere');
    $is(false, $both->consume(), 'and drained again');

    // Another host has no cached denial, so there the bucket without a record is full.
    $there = php_run(sprintf('var_dump((new TokenBucket(new %s(%s, "p:", 30.0), "drained", 5, 0.01))->consume());', $class, var_export($address, true)));
    echo "$kind: a host without a cached denial: ", $there;
}
?>
--EXPECT--
Redis: a host without a cached denial: bool(true)
Memcached: a host without a cached denial: bool(true)

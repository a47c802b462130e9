<?php
/** Limiters on Redis and memcached: each in plain PHP as it was published, then ours, on the same server. */

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\LeakyBucket;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\Compat\RateExceededException;
use TokenBucket\Compat\RateLimiter;

/** What the window throws in plain PHP. */
final class PlainRateExceededException extends Exception
{
}

/** @return list<Row> what one statement costs, in plain PHP, and the other, ours */
function pair(string $plain_name, string $our_name, string $what, string $plain, string $ours, array $variables): array
{
    $row = fn (string $name, string $statement, int $turns) => new Row("$name, $what", $statement, $variables, $turns);
    return [$row($plain_name, $plain, 1), $row($our_name, $ours, 2)];
}

/** Requests in the last five minutes: a counter for each, read one by one. */
function window_rows(Memcache $memcache, TokenBucketStorage $storage): array
{
    $variables = ['plain' => new PlainMinuteWindow($memcache, '192.0.2.1'), 'ours' => new MinuteWindow($storage, '192.0.2.2')];
    for ($i = 0; $i < 3; $i++) {
        must($variables['plain']->limitRequestsInMinutes(MUCH, 5), 'the plain window denies');
        $variables['ours']->limitRequestsInMinutes(MUCH, 5);
    }
    must(!$variables['plain']->limitRequestsInMinutes(1, 5), 'the plain window allows too much');
    try {
        $variables['ours']->limitRequestsInMinutes(1, 5);
        must(false, 'our window allows too much');
    } catch (RateExceededException) {
    }
    // Published, it throws.
    $rows = [];
    foreach (['granted' => MUCH, 'denied' => 1] as $what => $limit) {
        $plain = "if (!\$plain->limitRequestsInMinutes($limit, 5)) { throw new PlainRateExceededException; }";
        $ours = "\$ours->limitRequestsInMinutes($limit, 5);";
        [$plain, $ours] = array_map(fn (string $call) => "try { $call } catch (Exception) { }", [$plain, $ours]);
        $rows[] = pair('counters by ext-memcache', 'MinuteWindow', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** An array of tokens under a lock. */
function throttle_rows(Memcache $memcache, TokenBucketStorage $storage): array
{
    $variables = ['plain' => new LockingRateLimiter($memcache), 'ours' => new ClientThrottle($storage)];
    $rows = [];
    foreach (['granted' => [MUCH, 60], 'denied' => [1, 1_000_000]] as $what => [$limit, $window]) {
        // The same length, with what ours puts in front of it.
        [$plain, $ours] = ["\$plain->check('throttle_plain_$what', $limit, $window)", "\$ours->check('native$what', $limit, $window)"];
        foreach ([$plain, $ours] as $call) {
            begin(fn () => !evaluate($call, $variables), $what === 'granted');
        }
        $rows[] = pair('check() by ext-memcache', 'ClientThrottle', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** A bucket in JSON. */
function json_rows(Redis $redis, TokenBucketStorage $storage): array
{
    $rows = [];
    // In plain PHP a bucket of two gives one.
    foreach (['granted' => [MUCH, MUCH, 60], 'denied' => [2, 1, 1_000_000]] as $what => [$plain_limit, $limit, $seconds]) {
        $plain = new WatchingRateLimiter($redis, "plain $what", $plain_limit, $seconds);
        $ours = new RateLimiter("ours. $what", $limit, $seconds);
        $ours->redis = $storage;
        foreach ([$plain, $ours] as $limiter) {
            begin(fn () => $limiter->handler(), $what === 'granted');
        }
        $variables = ['plain' => $plain, 'ours' => $ours];
        $rows[] = pair('JSON under WATCH by phpredis', 'RateLimiter', $what, '$plain->handler()', '$ours->handler()', $variables);
    }
    return array_merge(...$rows);
}

/** Sorted sets. In plain PHP the set is looked up beforehand, which is less than its script does. */
function leaky_rows(Redis $redis, TokenBucketStorage $storage): array
{
    $rows = [];
    foreach (['granted' => [30, 10_000_000], 'denied' => [86_400, 1]] as $what => [$period, $limit]) {
        $member = "192.0.2.1-$what";
        $set = flexihash(sets(), $member);
        $plain = "plain_request(\$redis, '$set', '$member', $limit)";
        $variables = ['redis' => $redis, 'ours' => new LeakyBucket($storage, $period, $limit)];
        $ours = "\$ours->request('192.0.2.2', '$what')";
        foreach ([$plain, $ours] as $call) {
            begin(fn () => evaluate($call, $variables), $what === 'granted');
        }
        $rows[] = pair('sorted sets by phpredis', 'LeakyBucket', $what, $plain, $ours, $variables);
    }
    return array_merge(...$rows);
}

/** @param list<Row> $rows in pairs */
function measure_pairs(string $title, array $rows): void
{
    $before = TokenBucket\status()['remote'];
    sample($rows);
    $counted = TokenBucket\status()['remote'];
    must($counted['failed'] === $before['failed'], "a store failed: $title");
    must($counted['hinted'] === $before['hinted'], "a hint spared a question: $title");
    title($title);
    foreach (array_chunk($rows, 2) as [$plain, $ours]) {
        report($plain);
        report_rival($ours, $plain);
    }
}

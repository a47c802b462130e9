<?php
/** Plain PHP on phpredis that keeps the records of the limiters that ours stand in for. */

/** A bucket in JSON, under optimistic locking; it counts whole tokens right, and retries a lost race. */
function plain_rate_limiter(Redis $redis, string $key, int $initNum, int $expire): bool
{
    for (;;) {
        $now = time();
        $redis->watch($key);
        $record = $redis->get($key);
        $data = $record ? json_decode($record, true) : ['num' => $initNum, 'time' => $now];
        $num = min($initNum, $data['num'] + $initNum / $expire * ($now - $data['time'])) - 1;
        if ($num < 0) {
            $redis->unwatch();
            return false;
        }
        $redis->multi();
        $redis->set($key, json_encode(['num' => $num, 'time' => $now]));
        if ($redis->exec()) {
            return true;
        }
    }
}

/** Looks, then counts: two round trips, between which others may count. */
function plain_request(Redis $redis, string $set, string $member, int $limit): bool
{
    if ($redis->zScore($set, $member) >= $limit) {
        $redis->zIncrBy('locked', 1, $member);
        return false;
    }
    $redis->multi();
    $redis->zIncrBy($set, 1, $member);
    $redis->zAdd("$set:control", -1, $member);
    $redis->exec();
    return true;
}

/** What cron runs each period. */
function plain_cleanup(Redis $redis, array $sets): void
{
    foreach ($sets as $set) {
        $redis->zRemRangeByScore($set, '-inf', '1');
        $redis->zInterStore("$set:control", ["$set:control", $set], [1, 0], 'SUM');
        $redis->zInterStore($set, [$set, "$set:control"], [1, 1], 'SUM');
    }
}

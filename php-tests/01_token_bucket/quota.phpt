--TEST--
TokenBucket\Quota grants its limit in each window of the calendar
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Period;
use TokenBucket\Quota;

/** Prints the reason, the remaining tokens and the times of a decision. */
function told(TokenBucket\Decision $decision): void
{
    print_values($decision->reason, $decision->remaining, $decision->retryAfter, $decision->resetAfter);
}

echo "-- a day: the limit, and again at midnight --\n";
$storage = new TokenBucketStorageMemory;
$quota = new Quota($storage, 'day', 5, Period::Day);
check($quota instanceof TokenBucket, 'a quota is a bucket');
told($quota->peek());
told($quota->attempt(3));
told($quota->attempt(3));
print_values($quota->consume(2), $quota->consume(), $quota->consume(0));
$storage->advance(86_399.999);
print_values($quota->consume());
$storage->advance(0.001);
told($quota->attempt(5));
told($quota->attempt(6));

echo "-- denials do not lengthen a window --\n";
for ($denied = 0, $seconds = 0; !$quota->consume(); $seconds += 3600, $denied++) {
    $storage->advance(3600);
}
print_values($denied);

echo "-- header fields name the window and its end --\n";
$storage->advance(3600);
print_values($quota->attempt(2)->headers());
print_values($quota->attempt(5)->headers());
print_values((new Quota($storage, 'unused', 5, Period::Month))->peek()->headers());

echo "-- a charge may exceed the limit within the window --\n";
$quota->reset();
told($quota->charge(8));
told($quota->attempt());
told($quota->settle(8, 3));
told($quota->settle(1, 2));
$quota->refund(1);
told($quota->peek());
$quota->refund(1000);
told($quota->peek());
$quota->charge(1000);
$storage->advance(86_400);
told($quota->peek(5));

echo "-- a cost is rounded up to whole tokens, and a refund is rounded down --\n";
$quota->reset();
told($quota->attempt(0.5));
$quota->refund(0.5);
told($quota->attempt(1.5));
print_values($quota->consume(2), TokenBucket::attemptAll([[$quota, 0], [$quota, 0]])->allowed);

echo "-- every period, from a fake clock that starts on Monday, 2024-01-01 --\n";
foreach (Period::cases() as $period) {
    $storage = new TokenBucketStorageMemory;
    $quota = new Quota($storage, 'x', 1, $period);
    $quota->consume();
    $ends = $quota->attempt()->retryAfter;
    $storage->advance($ends - 0.001);
    $before = $quota->consume();
    $storage->advance(0.001);
    print_values($period->name, $ends, $before, $quota->consume());
}

echo "-- months end on their last day, and the anchor carries the time zone --\n";
$berlin = new DateTimeZone('Europe/Berlin');
$anchor = new DateTime('2024-01-31 12:00', $berlin);
$quota = new Quota($storage, 'billing', 1, Period::Month, $anchor);
$anchor->modify('+5 days');
foreach (['2024-02-01', '2024-02-29 12:00', '2025-02-10', '2025-02-28 12:00', '2025-03-31 11:59:59', '2025-04-30 13:00'] as $at) {
    [$start, $end] = $quota->window(new DateTimeImmutable($at, $berlin));
    echo "$at: ", $start->format('Y-m-d H:i P'), ' to ', $end->format('Y-m-d H:i P'), "\n";
}
[$start, $end] = (new Quota($storage, 'leap', 1, Period::Year, new DateTime('2024-02-29')))->window(new DateTime('2025-03-01'));
echo $start->format('Y-m-d'), ' to ', $end->format('Y-m-d'), "\n";
[$start, $end] = (new Quota($storage, 'hour', 1, Period::Hour, new DateTime('2024-02-29 10:30:10')))->window(new DateTime('1969-12-31 23:30:09 UTC'));
echo $start->format('c'), ' to ', $end->format('c'), "\n";

echo "-- daylight saving: a day of 23 hours is a whole window --\n";
$quota = new Quota($storage, 'summer', 1, Period::Day, new DateTime('2024-01-01', $berlin));
[$start, $end] = $quota->window(new DateTime('2024-03-31 12:00', $berlin));
print_values(($end->getTimestamp() - $start->getTimestamp()) / 3600);

echo "-- a clone counts in the same window --\n";
$quota = new Quota($storage, 'clone', 2, Period::Day);
print_values($quota->consume(), (clone $quota)->consume(), $quota->consume());
?>
--EXPECT--
-- a day: the limit, and again at midnight --
'granted' 5.0 0.0 86400.0
'granted' 2.0 0.0 86400.0
'insufficient_tokens' 2.0 86400.0 86400.0
true false true
false
'granted' 0.0 0.0 86400.0
'exceeds_capacity' 0.0 INF 86400.0
-- denials do not lengthen a window --
24
-- header fields name the window and its end --
['RateLimit-Policy' => '"default";q=5;w=86400', 'RateLimit' => '"default";r=2;t=82800']
['RateLimit-Policy' => '"default";q=5;w=86400', 'RateLimit' => '"default";r=2;t=82800', 'Retry-After' => '82800']
['RateLimit-Policy' => '"default";q=5;w=2678400', 'RateLimit' => '"default";r=5;t=2502000']
-- a charge may exceed the limit within the window --
'granted' -3.0 0.0 82800.0
'insufficient_tokens' -3.0 82800.0 82800.0
'granted' 2.0 0.0 82800.0
'granted' 1.0 0.0 82800.0
'granted' 2.0 0.0 82800.0
'granted' 5.0 0.0 82800.0
'granted' 5.0 0.0 82800.0
-- a cost is rounded up to whole tokens, and a refund is rounded down --
'granted' 4.0 0.0 82800.0
'granted' 2.0 0.0 82800.0
true true
-- every period, from a fake clock that starts on Monday, 2024-01-01 --
'Minute' 60.0 false true
'Hour' 3600.0 false true
'Day' 86400.0 false true
'Week' 604800.0 false true
'Month' 2678400.0 false true
'Year' 31622400.0 false true
-- months end on their last day, and the anchor carries the time zone --
2024-02-01: 2024-01-31 12:00 +01:00 to 2024-02-29 12:00 +01:00
2024-02-29 12:00: 2024-02-29 12:00 +01:00 to 2024-03-31 12:00 +02:00
2025-02-10: 2025-01-31 12:00 +01:00 to 2025-02-28 12:00 +01:00
2025-02-28 12:00: 2025-02-28 12:00 +01:00 to 2025-03-31 12:00 +02:00
2025-03-31 11:59:59: 2025-02-28 12:00 +01:00 to 2025-03-31 12:00 +02:00
2025-04-30 13:00: 2025-04-30 12:00 +02:00 to 2025-05-31 12:00 +02:00
2025-02-28 to 2026-02-28
1969-12-31T22:30:10+00:00 to 1969-12-31T23:30:10+00:00
-- daylight saving: a day of 23 hours is a whole window --
23
-- a clone counts in the same window --
true true false

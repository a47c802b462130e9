--TEST--
The wall clock selects the window of a quota, and a record ends with its window
--FILE--
<?php
require __DIR__ . '/own_clock.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

use TokenBucket\Period;
use TokenBucket\Polyfill\FileStore;
use TokenBucket\Polyfill\Settings;
use TokenBucket\Quota;

/** Makes the polyfill's file of buckets use $clock, and returns a quota of three tokens a day. */
function quota(OwnClock $clock, string $name = 'x'): Quota
{
    $stores = new ReflectionProperty(FileStore::class, 'stores');
    $stores->setValue(null, [Settings::folder() . '/' . Settings::file() => new FileStore(Settings::folder(), Settings::file(), $clock)]);
    return new Quota(new TokenBucketStorageSharedMemory, $name, 3, Period::Day);
}

/** Returns the live buckets of the file. */
function live(): int
{
    return TokenBucket\status()['shared_memory']['live'];
}

// Two hours and five minutes before midnight UTC.
$clock = new OwnClock;
$clock->wall = strtotime('2026-11-26 21:55:00 UTC') * 1_000_000;
$quota = quota($clock);
print_values($quota->consume(2), $quota->attempt(2)->retryAfter, live());
echo "-- the window ends --\n";
$clock->pass(7499);
print_values($quota->consume(2), live());
$clock->pass(2);
print_values(live(), $quota->consume(3), $quota->consume(), live());
echo "-- the host starts again, an hour later --\n";
$clock->monotonic = 1;
$clock->wall += 3600 * 1_000_000;
$quota = quota($clock);
print_values($quota->peek()->remaining, $quota->peek()->resetAfter);
echo "-- the wall clock is set back into the day before, and forward again --\n";
$clock->wall -= 2 * 3600 * 1_000_000;
print_values($quota->attempt(1)->reason, $quota->attempt(1)->retryAfter, $quota->charge(5)->remaining);
$quota->refund(5);
$clock->wall += 2 * 3600 * 1_000_000;
print_values($quota->peek()->remaining);
echo "-- it is set forward by a day --\n";
$clock->wall += 86400 * 1_000_000;
print_values($quota->consume(3), $quota->consume(), live());
$clock->pass(22 * 3600);
print_values(live(), $quota->peek()->remaining);
echo "-- a block ends with its window --\n";
$quota = quota($clock, 'blocked');
print_values($quota->block(30 * 3600)->remaining, round($quota->attempt()->retryAfter / 3600, 2), live());
$clock->pass(49 * 3600);
print_values($quota->consume(), live());
echo "-- the process pauses between its looks at the two clocks --\n";
Settings::$folder = new_folder();
$clock->wall = strtotime('2026-12-01 23:59:00 UTC') * 1_000_000;
$quota = quota($clock, 'paused');
$clock->pause = 3;
print_values($quota->consume(3));
$clock->pause = 0;
$clock->pass(strtotime('2026-12-01 23:59:59 UTC') - intdiv($clock->wall, 1_000_000));
print_values($quota->consume(), live());
$clock->pass(2);
print_values($quota->consume());
echo "-- the clock is set back within a window --\n";
Settings::$folder = new_folder();
$clock->wall = strtotime('2026-12-02 12:00:00 UTC') * 1_000_000;
$quota = quota($clock, 'set back');
print_values($quota->consume(3));
$clock->wall -= 6 * 3600 * 1_000_000;
$clock->pass(17 * 3600);
print_values($quota->consume(), $quota->attempt()->retryAfter);
$clock->pass(3600);
print_values($quota->consume());
?>
--EXPECT--
true 7500.0 1
-- the window ends --
false 1
0 true false 1
-- the host starts again, an hour later --
0.0 82799.0
-- the wall clock is set back into the day before, and forward again --
'insufficient_tokens' 89999.0 0.0
0.0
-- it is set forward by a day --
true false 1
1 0.0
-- a block ends with its window --
0.0 49.0 2
true 1
-- the process pauses between its looks at the two clocks --
true
false 1
true
-- the clock is set back within a window --
true
false 3600.0
true

--TEST--
A blocked quota denies charges until its block ends, and a date without windows is a ValueError
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Period;
use TokenBucket\Quota;

foreach (['memory' => new TokenBucketStorageMemory, 'shared memory' => new TokenBucketStorageSharedMemory] as $name => $storage) {
    foreach ([0, 60, 600, 86_400] as $seconds) {
        $quota = new Quota($storage, "blocked $seconds", 1_000_000, Period::Minute);
        $quota->consume(3);
        $blocked = $quota->block($seconds);
        foreach (['attempt' => $quota->attempt(), 'many' => $quota->attempt(999_999), 'charge' => $quota->charge(5), 'settle' => $quota->settle(1, 4)] as $method => $denied) {
            // The block ends with the minute in which its time ends. The next tokens come then.
            check(!$denied->allowed && $denied->retryAfter > $seconds && $denied->retryAfter <= $seconds + 60, "$name, $seconds, $method: $denied->retryAfter");
            check(abs($denied->retryAfter - $blocked->resetAfter) < 30, "$name, $seconds, $method: $denied->retryAfter, $blocked->resetAfter");
        }
        $quota->reset();
        check($quota->charge(5)->remaining === 999_995.0, 'after a reset');
    }
}
$quota = new Quota(new TokenBucketStorageMemory, 'x', 1, Period::Month);
foreach ([PHP_INT_MAX, PHP_INT_MIN, 253_402_300_800] as $seconds) {
    $date = (new DateTimeImmutable)->setTimestamp($seconds);
    echo thrown(fn () => $quota->window($date)), "\n";
    echo thrown(fn () => new Quota(new TokenBucketStorageMemory, 'x', 1, Period::Minute, $date)), "\n";
}
[$start] = $quota->window(new DateTimeImmutable('@253402300799'));
echo $start->format('Y-m-d'), "\n";
?>
--EXPECT--
ValueError: TokenBucket\Quota::window(): Argument #1 ($at) must be between the years -9999 and 9999
ValueError: TokenBucket\Quota::__construct(): Argument #5 ($anchor) must be between the years -9999 and 9999
ValueError: TokenBucket\Quota::window(): Argument #1 ($at) must be between the years -9999 and 9999
ValueError: TokenBucket\Quota::__construct(): Argument #5 ($anchor) must be between the years -9999 and 9999
ValueError: TokenBucket\Quota::window(): Argument #1 ($at) must be between the years -9999 and 9999
ValueError: TokenBucket\Quota::__construct(): Argument #5 ($anchor) must be between the years -9999 and 9999
9999-12-01

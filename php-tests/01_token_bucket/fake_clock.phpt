--TEST--
now() reads the clock of TokenBucketStorageMemory, and bootstrap() measures instants on it
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

/** Gives a new bucket half of its tokens, through the extension's _bootstrap(). */
class HalfFull extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap($initialTokens - $this->_bucket_capacity / 2);
    }
}

/** Gives a new bucket half of its tokens, through the storage's bootstrap() and a given clock. */
class ByInstant extends TokenBucket
{
    public function __construct(private TokenBucketStorage $home, string $id, int $capacity, float $rate, private Closure $clock)
    {
        parent::__construct($home, $id, $capacity, $rate);
    }

    protected function _bootstrap($initialTokens)
    {
        $tokens = $initialTokens - $this->_bucket_capacity / 2;
        $this->home->bootstrap($this->_identifier, ($this->clock)() - $this->_tokens_to_seconds($tokens));
    }
}

echo "-- now() --\n";
$storage = new TokenBucketStorageMemory;
print_values($storage->now());
$storage->advance(0.1);
$storage->advance(0.2);
print_values($storage->now());
usleep(2000);
print_values($storage->now());
$storage->advance(1e6);
print_values($storage->now());
$bucket = new TokenBucket($storage, 'x', 1, 0.1);
$bucket->consume();
print_values($bucket->wait(10)->allowed, $storage->now(), (new TokenBucketStorageMemory)->now());
echo thrown(fn() => $storage->now(1)), "\n";

$ways = [
    'parent::_bootstrap()' => fn($storage, $id) => new HalfFull($storage, $id, 10, 10 / TokenBucket::MINUTE),
    'now()' => fn($storage, $id) => new ByInstant($storage, $id, 10, 10 / TokenBucket::MINUTE, $storage->now(...)),
];
foreach ($ways as $name => $make) {
    echo "-- a subclass that uses $name --\n";
    foreach ([0, 0.3, 86400 * 365 * 10] as $age) {
        $storage = new TokenBucketStorageMemory;
        $storage->advance($age);
        for ($i = 0; $i < 20; $i++) {
            $bucket = $make($storage, "$i");
            check($bucket->consume(), 'the first call');
            usleep(50);
            $left = $bucket->attempt(4);
            check($left->allowed && $left->remaining === 0.0, 'four more');
            // After some months, a double no longer holds an instant to the nanosecond. So the
            // result with now() has a tolerance.
            $exact = $bucket->attempt()->retryAfter;
            check($age > 1 && $name === 'now()' ? abs($exact - 6) < 1e-6 : $exact === 6.0, "exactly 6 s: $exact after $age s");
        }
        $storage->advance(30);
        check($bucket->peek()->remaining === 5.0, 'half a minute later');
    }
}

echo "-- a full bucket grants all its fractions --\n";
$bucket = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 7 / TokenBucket::MINUTE);
for ($i = 0; $i < 10; $i++) {
    $bucket->consume(0.7);
}
print_values($bucket->peek()->remaining, $bucket->charge(0.3)->remaining, $bucket->settle(0.3, 0)->remaining);

echo "-- the end of the clock --\n";
$storage = new TokenBucketStorageMemory;
$year = 365 * TokenBucket::DAY;
foreach ([18, 18, 36, 36] as $years) {
    $bucket = new TokenBucket($storage, "after $years years", 1, 0.5 / TokenBucket::HOUR);
    $bucket->consume();
    check($bucket->attempt()->retryAfter === 7200.0, 'two hours');
    $before = $storage->now();
    $storage->advance(7200);
    check($bucket->consume(), 'after two hours');
    $storage->advance($years * $year - 7200);
    check(abs($storage->now() - $before - $years * $year) < 1e-3, 'the clock has advanced');
}
echo thrown(fn() => $storage->advance(37 * $year)), "\n";
echo thrown(fn() => $storage->advance(1e300)), "\n";
echo thrown(fn() => $storage->advance(2 * $year)), "\n";
check(abs($storage->now() - 108 * $year) < 1e-3, 'the clock stands');
$late = new TokenBucket($storage, 'late', 1, 1 / (3 * $year));
print_values($late->consume(), $late->reserve()->decision->reason, $late->wait(INF)->reason);

echo "-- a subclass that uses microtime() still works, also after the clock was advanced --\n";
foreach ([0, 3600, 86400 * 365] as $age) {
    $storage = new TokenBucketStorageMemory;
    $storage->advance($age);
    for ($i = 0; $i < 20; $i++) {
        $bucket = new ByInstant($storage, "$i", 10, 10 / TokenBucket::DAY, fn() => microtime(true));
        check($bucket->consume(5), 'five');
        check($bucket->attempt(1)->retryAfter > 8_000, 'no more than five');
    }
}

echo "-- bootstrap() --\n";
$storage = new TokenBucketStorageMemory;
$storage->advance(100);
$left = fn(string $id) => (new TokenBucket($storage, $id, 10, 1))->peek(0);
$storage->bootstrap('past', $storage->now() - 4);
$storage->bootstrap('now', $storage->now());
$storage->bootstrap('future', $storage->now() + 4);
$storage->bootstrap('start', 0);
$storage->bootstrap('long ago', -1e18);
print_values($left('past')->remaining, $left('now')->remaining, $left('future')->retryAfter);
print_values($left('start')->remaining, $left('long ago')->remaining);
?>
--EXPECT--
-- now() --
0.0
0.3
0.3
1000000.3
true 1000010.3 0.0
ArgumentCountError: TokenBucketStorageMemory::now() expects exactly 0 arguments, 1 given
-- a subclass that uses parent::_bootstrap() --
-- a subclass that uses now() --
-- a full bucket grants all its fractions --
3.0 2.0 3.0
-- the end of the clock --
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be less than 2^60 nanoseconds (36 years)
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be less than 2^60 nanoseconds (36 years)
ValueError: TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must not advance the clock by more than 109 years in all
true 'insufficient_tokens' 'insufficient_tokens'
-- a subclass that uses microtime() still works, also after the clock was advanced --
-- bootstrap() --
4.0 0.0 4.0
10.0 10.0

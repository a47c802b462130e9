--TEST--
At n tokens a second, minute, hour, day or week, n tokens are refilled in that period
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

echo "-- ten a minute --\n";
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 10 / TokenBucket::MINUTE);
for ($i = 0; $i < 10; $i++) {
    check($bucket->consume(), "call $i");
}
$denied = $bucket->attempt();
print_values($denied->retryAfter, $denied->resetAfter, $denied->headers()['Retry-After']);
$storage->advance(6);
print_values($bucket->consume(), $bucket->consume());

/** Counts the failures of a law, and keeps the first one as an example. */
final class Law
{
    private array $failures = [];

    public function holds(bool $holds, string $case): void
    {
        $holds || $this->failures[] = $case;
    }

    public function __toString(): string
    {
        return $this->failures ? count($this->failures) . " fail, such as {$this->failures[0]}" : 'holds';
    }
}

$units = [
    'second' => TokenBucket::SECOND, 'minute' => TokenBucket::MINUTE, 'hour' => TokenBucket::HOUR,
    'day' => TokenBucket::DAY, 'week' => TokenBucket::WEEK,
];
mt_srand(13);
$some = array_merge(range(1, is_slow() ? 50 : 1000), array_map(fn() => mt_rand(1001, 100000), range(1, 200)));
foreach ($units as $name => $unit) {
    $laws = array_combine($names = ['at once', 'one by one', 'retryAfter', 'Retry-After'], array_map(fn() => new Law, $names));
    foreach ($some as $n) {
        $storage = new TokenBucketStorageMemory;
        $make = fn(string $id) => new TokenBucket($storage, $id, $n, $n / $unit);
        $case = "$n a $name";

        $at_once = $make('at once');
        $at_once->consume($n);
        $one_by_one = null;
        if ($n <= 100) {
            $one_by_one = $make('one by one');
            for ($i = 0; $i < $n; $i++) {
                check($one_by_one->consume(), "$case: call $i");
            }
            check(!$one_by_one->consume(), "$case: one too many");
        }
        $storage->advance($unit);
        $laws['at once']->holds($at_once->peek()->remaining === (float) $n && $at_once->consume($n), $case);
        $laws['one by one']->holds($one_by_one === null || $one_by_one->consume($n), $case);

        foreach ([1, $n] as $tokens) {
            $bucket = $make("retryAfter $tokens");
            $bucket->consume($n);
            $storage->advance($bucket->attempt($tokens)->retryAfter);
            $laws['retryAfter']->holds($bucket->consume($tokens), "$tokens of $case");

            $bucket = $make("Retry-After $tokens");
            $bucket->consume($n);
            $seconds = $bucket->attempt($tokens)->headers()['Retry-After'];
            $storage->advance((float) $seconds);
            $laws['Retry-After']->holds($bucket->consume($tokens), "$tokens of $case after $seconds s");
            $laws['Retry-After']->holds($tokens < $n || $seconds === (string) $unit, "$case: Retry-After $seconds");
        }
    }
    foreach ($laws as $law => $result) {
        echo "$name, $law: $result\n";
    }
}

echo "-- never more than the rate --\n";
foreach ([7, 999, 1000, 100000] as $n) {
    $storage = new TokenBucketStorageMemory;
    $bucket = new TokenBucket($storage, 'x', $n, $n / TokenBucket::MINUTE);
    $bucket->consume($n);
    $storage->advance(30);
    print_values($bucket->peek()->remaining === (float) intdiv($n, 2));
    $storage->advance(29.99);
    print_values($bucket->consume($n));
}
?>
--EXPECT--
-- ten a minute --
6.0 60.0 '6'
true false
second, at once: holds
second, one by one: holds
second, retryAfter: holds
second, Retry-After: holds
minute, at once: holds
minute, one by one: holds
minute, retryAfter: holds
minute, Retry-After: holds
hour, at once: holds
hour, one by one: holds
hour, retryAfter: holds
hour, Retry-After: holds
day, at once: holds
day, one by one: holds
day, retryAfter: holds
day, Retry-After: holds
week, at once: holds
week, one by one: holds
week, retryAfter: holds
week, Retry-After: holds
-- never more than the rate --
true
false
true
false
true
false
true
false

--TEST--
A call throws what the error handler throws, and the bucket stays usable
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

set_error_handler(fn (int $level, string $message) => throw new DomainException(Warnings::plain(preg_replace('/-\d+|=\d+/', '', $message))));
foreach ([...METHODS, ...METHODS] as $number => $method) {
    $bucket = new Changing(Down::storage(), str_repeat('x', 30), 5, 0.001);
    $thrown = thrown(fn () => call($bucket, $method));
    echo $number < 2 ? "$thrown\n" : '';
    check(str_starts_with($thrown, 'DomainException: '), "$method: $thrown");
    // Tokens charged before the warning stay charged.
    $left = in_array($method, ['consume', 'attempt', 'wait'], true) ? 4.0 : 5.0;
    check($bucket->peek()->remaining === $left, "$method: " . $bucket->peek()->remaining . ' left');
    check($bucket->consume() && $bucket->peek()->remaining === $left - 1, "$method: goes on");
}
$storage = Down::storage();
$buckets = [new TokenBucket($storage, 'a', 5, 0.001), new TokenBucket($storage, 'b', 5, 0.001)];
check(str_starts_with(thrown(fn () => TokenBucket::attemptAll($buckets)), 'DomainException'), 'attemptAll()');
echo implode(' ', array_map(fn ($bucket) => $bucket->peek()->remaining, $buckets)), "\n";
echo str_starts_with(thrown(fn () => Down::storage()->consume('x', 1, 5, fn () => true)), 'DomainException') ? "thrown\n" : "not thrown\n";
echo str_starts_with(thrown(fn () => Down::storage()->bootstrap('x', 1)), 'DomainException') ? "thrown\n" : "not thrown\n";
?>
--EXPECT--
DomainException: TokenBucket::consume(): unix:tokenbucket.sock?db: cannot connect: No such file or directory (os error); using shared memory of this host until it recovers
DomainException: TokenBucket::attempt(): memcached at unix:tokenbucket.sock: cannot connect: No such file or directory (os error); using shared memory of this host until it recovers
4 4
thrown
thrown

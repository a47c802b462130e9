--TEST--
An error handler may interfere with the call that warns of an outage, and may end the script
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

class Changing extends TokenBucket
{
    public function change(string $identifier, int $capacity): void
    {
        $this->_identifier = $identifier;
        $this->_bucket_capacity = $capacity;
        $this->_tokens_per_second = 0.5;
    }
}

/** Allocates memory, so that freed memory is overwritten. */
function scribble(): array
{
    return array_map(fn ($i) => str_repeat(chr(65 + $i % 26), 10 + $i), range(0, 300));
}

const METHODS = ['consume', 'attempt', 'peek', 'wait', 'refund', 'reset'];

/**
 * Creates storages whose server is down. Each storage has another database or path, so its store
 * has not warned yet.
 */
final class Down
{
    private static int $number = 0;

    public static function storage(OnFailure $policy = OnFailure::Local): TokenBucketStorage
    {
        $number = ++self::$number;
        return $number % 2
            ? new TokenBucketStorageRedis("unix:///nowhere/tokenbucket.sock?db=$number", 'p', 1.0, $policy)
            : new TokenBucketStorageMemcached("unix:///nowhere/tokenbucket-$number.sock", 'p', 1.0, $policy);
    }
}

function call(TokenBucket $bucket, string $method): mixed
{
    return $method === 'wait' ? $bucket->wait(1) : $bucket->$method();
}

echo "-- An error handler may change the bucket during the call that warns --\n";
foreach ([...METHODS, ...METHODS] as $method) {
    $bucket = new Changing(Down::storage(), str_repeat('x', 30), 5, 0.001);
    set_error_handler(function () use ($bucket): bool {
        $bucket->change(str_repeat('y', 40), 3);
        scribble();
        return true;
    });
    call($bucket, $method);
    check($bucket->peek()->capacity === 3.0 && $bucket->peek()->remaining === 3.0, "$method: another bucket from then on");
    check($bucket->consume(3) && !$bucket->consume(), "$method: which decides");
}

echo "-- An error handler may construct the bucket again during the call that warns --\n";
foreach (METHODS as $method) {
    $bucket = new TokenBucket(Down::storage(), str_repeat('x', 30), 5, 0.001);
    set_error_handler(function () use ($bucket): bool {
        $bucket->__construct(new TokenBucketStorageMemory, str_repeat('z', 50), 2, 1);
        scribble();
        return true;
    });
    call($bucket, $method);
    check($bucket->consume(2) && !$bucket->consume(), "$method: another storage from then on");
}

echo "-- An error handler may call the same bucket again --\n";
foreach ([...METHODS, ...METHODS] as $method) {
    $bucket = new TokenBucket(Down::storage(), 'x', 5, 0.001);
    $calls = 0;
    set_error_handler(function () use ($bucket, $method, &$calls): bool {
        $calls++;
        $bucket->consume();
        call($bucket, $method);
        return true;
    });
    call($bucket, $method);
    $left = ['consume' => 2.0, 'attempt' => 2.0, 'wait' => 2.0, 'peek' => 4.0][$method] ?? 5.0;
    check($bucket->peek()->remaining === $left, "$method: " . $bucket->peek()->remaining . ' left');
    check($calls === 1, "$method: $calls warnings");
}

echo "-- An error handler may release the bucket and the storage during the call --\n";
foreach ([...METHODS, ...METHODS] as $method) {
    $held = [new Changing(Down::storage(), str_repeat('x', 30), 5, 0.001)];
    $weak = WeakReference::create($held[0]);
    set_error_handler(function () use (&$held): bool {
        $held = [];
        gc_collect_cycles();
        scribble();
        return true;
    });
    // Calls through the array element, so that no variable holds the bucket.
    $method === 'wait' ? $held[0]->wait(1) : $held[0]->$method();
    check($weak->get() === null && $held === [], "$method: is gone");
}
foreach (['consume', 'bootstrap'] as $method) {
    $held = [Down::storage()];
    $weak = WeakReference::create($held[0]);
    $method === 'consume'
        ? $held[0]->consume(str_repeat('x', random_int(20, 20)), 1, 5, fn () => true)
        : $held[0]->bootstrap(str_repeat('x', random_int(20, 20)), microtime(true));
    check($weak->get() === null, "$method of the storage: is gone");
}
for ($i = 0; $i < 2; $i++) {
    $held = [$storage = Down::storage()];
    $buckets = [new TokenBucket($storage, str_repeat('a', 30), 5, 0.001), new TokenBucket($storage, str_repeat('b', 30), 5, 0.001)];
    $weak = WeakReference::create($buckets[1]);
    unset($storage);
    set_error_handler(function () use (&$held, &$buckets): bool {
        $held = $buckets = [];
        scribble();
        return true;
    });
    print_values(TokenBucket::attemptAll($buckets)->allowed, $weak->get());
}

echo "-- A call throws what the error handler throws, and the bucket stays usable --\n";
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
// It takes from all buckets or none.
echo implode(' ', array_map(fn ($bucket) => $bucket->peek()->remaining, $buckets)), "\n";
echo str_starts_with(thrown(fn () => Down::storage()->consume('x', 1, 5, fn () => true)), 'DomainException') ? "thrown\n" : "not thrown\n";
echo str_starts_with(thrown(fn () => Down::storage()->bootstrap('x', 1)), 'DomainException') ? "thrown\n" : "not thrown\n";

echo "-- An error handler may end the script --\n";
$bucket = new TokenBucket(Down::storage(), 'x', 5, 0.001);
register_shutdown_function(function () use ($bucket): void {
    var_dump($bucket->peek()->remaining);
});
set_error_handler(fn () => exit("ends\n"));
$bucket->consume();
echo "not reached\n";
?>
--EXPECT--
-- An error handler may change the bucket during the call that warns --
-- An error handler may construct the bucket again during the call that warns --
-- An error handler may call the same bucket again --
-- An error handler may release the bucket and the storage during the call --
true null
true null
-- A call throws what the error handler throws, and the bucket stays usable --
DomainException: TokenBucket::consume(): unix:tokenbucket.sock?db: cannot connect: No such file or directory (os error); using shared memory of this host until it recovers
DomainException: TokenBucket::attempt(): memcached at unix:tokenbucket.sock: cannot connect: No such file or directory (os error); using shared memory of this host until it recovers
5 5
thrown
thrown
-- An error handler may end the script --
ends
float(4)

--TEST--
attempt() works on a userland storage, while other methods throw a LogicException
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class YesNo extends ArrayStorage
{
    public $answer = true;
    public $asked = 0;

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->asked++;
        return $this->answer;
    }
}
$storage = new YesNo;
$bucket = new TokenBucket($storage, 'x', 10, 4.0);
$decision = $bucket->attempt(3);
print_values($decision->allowed, $decision->reason, $decision->capacity, $decision->retryAfter);
$storage->answer = false;
show($bucket->attempt(3));
$storage->asked = 0;
show($bucket->attempt(11));
print_values($storage->asked);

echo "-- methods that throw --\n";
$native = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 1);
$calls = [
    'peek' => fn() => $bucket->peek(),
    'refund' => fn() => $bucket->refund(),
    'reset' => fn() => $bucket->reset(),
    'block' => fn() => $bucket->block(1),
    'drain' => fn() => $bucket->drain(11),
    'attempt with a floor' => fn() => $bucket->attempt(1, 1),
    'attemptEach with a floor' => fn() => TokenBucket::attemptEach([[$bucket, 1, 1]]),
    'attemptAll' => fn() => TokenBucket::attemptAll([$bucket]),
    'attemptAll with a native one' => fn() => TokenBucket::attemptAll([$native, $bucket]),
];
foreach ($calls as $name => $call) {
    $thrown = thrown($call);
    echo "$name: ", explode(':', $thrown)[0], "\n";
    check(strlen($thrown) > strlen('LogicException: ') + 20, "$name says why");
    check(str_contains($thrown, 'YesNo') || str_contains($thrown, 'storage'), "$name says that it is the storage: $thrown");
}
print_values($storage->asked, $native->peek()->remaining);

echo "-- a userland storage that limits --\n";
$storage = new ArrayStorage;
$bucket = new TokenBucket($storage, 'x', 10, 1);
$bucket->attempt();
$storage->stop_when_full();
$granted = 0;
for ($i = 0; $i < 20; $i++) {
    $granted += (int) $bucket->attempt()->allowed;
}
print_values($granted);
$storage->elapsed += 4.01;
print_values($bucket->attempt(5)->allowed, $bucket->attempt(4)->allowed);
?>
--EXPECTF--
true 'granted' 10.0 0.0
denied insufficient_tokens remaining=0.0 capacity=10.0 retryAfter=0.75 resetAfter=2.5
denied exceeds_capacity remaining=0.0 capacity=10.0 retryAfter=INF resetAfter=%s
0
-- methods that throw --
peek: LogicException
refund: LogicException
reset: LogicException
block: LogicException
drain: LogicException
attempt with a floor: LogicException
attemptEach with a floor: LogicException
attemptAll: LogicException
attemptAll with a native one: LogicException
0 10.0
-- a userland storage that limits --
10
false true

--TEST--
A lockout blocks after some failures, for longer and longer, until a success or a quiet time
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Lockout;

fold_equal_lines();
$storage = new TokenBucketStorageMemory;
$lockout = new Lockout($storage, 'alice', attempts: 3, block: 60, factor: 2, maxBlock: 200);
echo "-- three attempts, then a block of a minute --\n";
show($lockout->peek());
for ($i = 0; $i < 4; $i++) {
    show($lockout->attempt());
}
echo "-- denials never extend it, and it ends with one attempt --\n";
for ($i = 0; $i < 100; $i++) {
    $lockout->attempt();
}
$storage->advance(59.999);
show($lockout->attempt());
$storage->advance(0.002);
show($lockout->peek());
show($lockout->attempt());
show($lockout->attempt());
echo "-- each further failure makes it longer, up to the longest block --\n";
foreach ([120, 200, 200] as $block) {
    $storage->advance($block + 1e-5);
    $lockout->attempt();
    print_values(round($lockout->peek()->retryAfter, 3));
}
echo "-- a success forgets, and a quiet time, too --\n";
$lockout->succeed();
show($lockout->peek());
$lockout->succeed();
for ($i = 0; $i < 3; $i++) {
    $lockout->attempt();
}
$storage->advance(260.1);
show($lockout->attempt());
echo "-- header fields --\n";
$other = new Lockout($storage, 'bob', 2);
foreach ([$other->peek(), $other->attempt(), $other->attempt(), $other->attempt()] as $decision) {
    echo implode(' | ', $decision->headers('login')), "\n";
}
echo "-- other objects share a block, unless they allow more attempts --\n";
print_values((new TokenBucket($storage, 'bob', 1, 1))->consume(), (new Lockout($storage, 'carol', 1))->attempt()->allowed);
print_values((new Lockout($storage, 'bob', 2))->attempt()->reason, (clone $other)->peek()->reason);
print_values((new Lockout($storage, 'bob', 3))->attempt()->allowed);
echo "-- shared memory --\n";
$shared = new Lockout(new TokenBucketStorageSharedMemory, 'alice', 2);
print_values($shared->attempt()->allowed, $shared->attempt()->allowed, $shared->attempt()->reason);
$shared->succeed();
print_values($shared->peek()->remaining, $shared->attempt()->remaining);
echo "-- arguments --\n";
foreach ([
    ['attempts' => 0], ['attempts' => 513], ['block' => 0], ['block' => -1], ['block' => NAN], ['block' => 1.2e9],
    ['factor' => 0.99], ['factor' => NAN], ['factor' => INF], ['maxBlock' => 0], ['maxBlock' => INF],
] as $arguments) {
    echo thrown(fn () => new Lockout($storage, 'x', ...$arguments)), "\n";
}
echo thrown(fn () => new Lockout(new stdClass, 'x')), "\n";
echo thrown(fn () => $lockout->__construct($storage, 'x')), "\n";
echo thrown(fn () => serialize($lockout)), "\n";
show((new Lockout($storage, 'most', 512, factor: 1e300))->attempt());
$userland = new class implements TokenBucketStorage {
    public function prepare() {}
    public function bootstrap($identifier, $microtime) {}
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
};
foreach (['attempt', 'peek', 'succeed'] as $method) {
    echo thrown(fn () => (new Lockout($userland, 'x'))->$method()), "\n";
}
?>
--EXPECT--
-- three attempts, then a block of a minute --
allowed granted remaining=3.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=2.0 capacity=3.0 retryAfter=0.0 resetAfter=200.0
allowed granted remaining=1.0 capacity=3.0 retryAfter=0.0 resetAfter=200.0
allowed granted remaining=0.0 capacity=3.0 retryAfter=0.0 resetAfter=260.0
denied locked_out remaining=0.0 capacity=3.0 retryAfter=60.0 resetAfter=260.0
-- denials never extend it, and it ends with one attempt --
denied locked_out remaining=0.0 capacity=3.0 retryAfter=0.001 resetAfter=200.001
allowed granted remaining=1.0 capacity=3.0 retryAfter=0.0 resetAfter=199.999
allowed granted remaining=0.0 capacity=3.0 retryAfter=0.0 resetAfter=320.000002
denied locked_out remaining=0.0 capacity=3.0 retryAfter=120.000002 resetAfter=320.000002
-- each further failure makes it longer, up to the longest block --
200.0 (3 times)
-- a success forgets, and a quiet time, too --
allowed granted remaining=3.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=2.0 capacity=3.0 retryAfter=0.0 resetAfter=200.0
-- header fields --
"login";q=2 | "login";r=2;t=0
"login";q=2 | "login";r=1;t=86400
"login";q=2 | "login";r=0;t=900
"login";q=2 | "login";r=0;t=900 | 900
-- other objects share a block, unless they allow more attempts --
true true
'locked_out' 'locked_out'
true
-- shared memory --
true true 'locked_out'
2.0 1.0
-- arguments --
ValueError: TokenBucket\Lockout::__construct(): Argument #3 ($attempts) must be between 1 and 512 (2 times)
ValueError: TokenBucket\Lockout::__construct(): Argument #4 ($block) must be greater than 0
ValueError: TokenBucket\Lockout::__construct(): Argument #4 ($block) must be greater than or equal to 0
ValueError: TokenBucket\Lockout::__construct(): Argument #4 ($block) must be finite
ValueError: TokenBucket\Lockout::__construct(): Argument #4 ($block) must be less than 2^60 nanoseconds (36 years)
ValueError: TokenBucket\Lockout::__construct(): Argument #5 ($factor) must be finite and greater than or equal to 1 (3 times)
ValueError: TokenBucket\Lockout::__construct(): Argument #6 ($maxBlock) must be greater than 0
ValueError: TokenBucket\Lockout::__construct(): Argument #6 ($maxBlock) must be finite
TypeError: TokenBucket\Lockout::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, stdClass given
Error: Cannot modify readonly property TokenBucket\Lockout::$storage
Exception: Serialization of 'TokenBucket\Lockout' is not allowed
allowed granted remaining=511.0 capacity=512.0 retryAfter=0.0 resetAfter=86400.0
LogicException: TokenBucket\Lockout::attempt() needs one of the extension's own storages
LogicException: TokenBucket\Lockout::peek() needs one of the extension's own storages
LogicException: TokenBucket\Lockout::succeed() needs one of the extension's own storages

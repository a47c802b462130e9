--TEST--
LeakyBucket reports the argument that is invalid
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
use TokenBucket\Compat\LeakyBucket;

$memory = new TokenBucketStorageMemory;
$userland = new GrantingStorage;
foreach ([null, 'redis://localhost', [], [1], [$memory], [[]], new stdClass, $userland] as $storage) {
    echo thrown(fn () => new LeakyBucket($storage)), "\n";
}
foreach ([[0], [-5], ['x'], [1 << 32], [30, 0], [30, 1 << 32], [4294967295, 4294967295], [1 << 30, 2], [30, 6, []]] as $arguments) {
    echo thrown(fn () => new LeakyBucket($memory, ...$arguments)), "\n";
}
$bucket = new LeakyBucket($memory);
echo thrown(fn () => $bucket->bucket('login', 0, 3)), "\n";
echo thrown(fn () => $bucket->bucket('login', 30, 0)), "\n";
echo thrown(fn () => $bucket->bucket([], 30, 1)), "\n";
echo thrown(fn () => $bucket->request('x')), "\n";
echo thrown(fn () => $bucket->request([], 'x')), "\n";
echo thrown(fn () => $bucket->request('x', new stdClass)), "\n";
echo thrown(fn () => $bucket->locked()), "\n";
echo thrown(fn () => $bucket->locked(0)), "\n";

class Unborn extends LeakyBucket
{
    public function __construct() {}
}
$bucket = (new Unborn)->bucket('x', 1, 1);
foreach (['request' => ['x', 'x'], 'cleanup' => [], 'locked' => []] as $method => $arguments) {
    echo thrown(fn () => $bucket->$method(...$arguments)), "\n";
}
echo thrown(fn () => (new Unborn)->request('x', 'y')), "\n";
?>
--EXPECT--
TypeError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #1 ($storage) must be one of the extension's own storages, a client of type Redis, or a list of TokenBucketStorageRedis or such clients (2 times)
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #1 ($storage) must not be empty
TypeError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #1 ($storage) must be one of the extension's own storages, a client of type Redis, or a list of TokenBucketStorageRedis or such clients (5 times)
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #2 ($period) must be greater than 0 (2 times)
TypeError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #2 ($period) must be of type int, string given
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #2 ($period) must be less than or equal to 4294967295
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #3 ($limit) must be greater than 0
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #3 ($limit) must be less than or equal to 4294967295
ValueError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #3 ($limit) must leak within 2^60 nanoseconds at the given period (2 times)
TypeError: TokenBucket\Compat\LeakyBucket::__construct(): Argument #4 ($dryRun) must be of type bool, array given
ValueError: TokenBucket\Compat\LeakyBucket::bucket(): Argument #2 ($period) must be greater than 0
ValueError: TokenBucket\Compat\LeakyBucket::bucket(): Argument #3 ($limit) must be greater than 0
TypeError: TokenBucket\Compat\LeakyBucket::bucket(): Argument #1 ($action) must be of type string, array given
ArgumentCountError: TokenBucket\Compat\LeakyBucket::request() expects exactly 2 arguments, 1 given
TypeError: TokenBucket\Compat\LeakyBucket::request(): Argument #1 ($clientId) must be of type string, array given
TypeError: TokenBucket\Compat\LeakyBucket::request(): Argument #2 ($actionId) must be of type string, stdClass given
LogicException: TokenBucket\Compat\LeakyBucket::locked() needs a TokenBucketStorageRedis
ValueError: TokenBucket\Compat\LeakyBucket::locked(): Argument #1 ($top) must be greater than 0
Error: The TokenBucket\Compat\LeakyBucket object has not been constructed (4 times)

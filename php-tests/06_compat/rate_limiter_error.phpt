--TEST--
RateLimiter reports the argument or property that is invalid
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
use TokenBucket\Compat\RateLimiter;

foreach ([[-1], [NAN], [INF], ['x'], [[]], [30, -60], [30, 'x'], [30, new stdClass]] as $arguments) {
    echo thrown(fn () => new RateLimiter('key', ...$arguments)), "\n";
}
echo thrown(fn () => new RateLimiter(1, 2, 3, 4)), "\n";
echo thrown(fn () => (new RateLimiter)->handler()), "\n";
echo thrown(fn () => (new RateLimiter('key', 5, 0))->handler()), "\n";
echo thrown(fn () => (new RateLimiter('key', 1e300, 1))->handler()), "\n";
echo thrown(fn () => (new RateLimiter('key'))->handler(1)), "\n";

$properties = [
    'cacheKey' => [null, '', [1]],
    'initNum' => [null, 'x', -1, NAN, []],
    'expire' => [null, 'x', -1, 0],
    'redis' => ['redis://localhost', 0, new stdClass, new GrantingStorage],
];
foreach ($properties as $name => $values) {
    foreach ($values as $value) {
        $limiter = new RateLimiter('key');
        $limiter->$name = $value;
        echo thrown(fn () => $limiter->handler()), "\n";
    }
    $limiter = new RateLimiter('key');
    unset($limiter->$name);
    echo "unset $name: ", thrown(fn () => $limiter->handler()), "\n";
}
$limiter = new RateLimiter('key');
$limiter->cacheKey = new class {
    public function __toString(): string
    {
        throw new DomainException('no name');
    }
};
echo thrown(fn () => $limiter->handler()), "\n";
?>
--EXPECT--
ValueError: TokenBucket\Compat\RateLimiter::__construct(): Argument #2 ($initNum) must be greater than or equal to 0
ValueError: TokenBucket\Compat\RateLimiter::__construct(): Argument #2 ($initNum) must be finite (2 times)
TypeError: TokenBucket\Compat\RateLimiter::__construct(): Argument #2 ($initNum) must be of type int|float, string given
TypeError: TokenBucket\Compat\RateLimiter::__construct(): Argument #2 ($initNum) must be of type int|float, array given
ValueError: TokenBucket\Compat\RateLimiter::__construct(): Argument #3 ($expire) must be greater than or equal to 0
TypeError: TokenBucket\Compat\RateLimiter::__construct(): Argument #3 ($expire) must be of type int|float, string given
TypeError: TokenBucket\Compat\RateLimiter::__construct(): Argument #3 ($expire) must be of type int|float, stdClass given
ArgumentCountError: TokenBucket\Compat\RateLimiter::__construct() expects at most 3 arguments, 4 given
ValueError: TokenBucket\Compat\RateLimiter::$cacheKey must not be empty
ValueError: TokenBucket\Compat\RateLimiter::$expire must be greater than 0
ValueError: TokenBucket\Compat\RateLimiter::$initNum must not be more than can be counted in $expire seconds
ArgumentCountError: TokenBucket\Compat\RateLimiter::handler() expects exactly 0 arguments, 1 given
ValueError: TokenBucket\Compat\RateLimiter::$cacheKey must not be empty (2 times)
TypeError: TokenBucket\Compat\RateLimiter::$cacheKey must be of type string
unset cacheKey: ValueError: TokenBucket\Compat\RateLimiter::$cacheKey must not be empty
TypeError: TokenBucket\Compat\RateLimiter::$initNum must be of type int|float (2 times)
ValueError: TokenBucket\Compat\RateLimiter::$initNum must be greater than or equal to 0
ValueError: TokenBucket\Compat\RateLimiter::$initNum must be finite
TypeError: TokenBucket\Compat\RateLimiter::$initNum must be of type int|float
unset initNum: TypeError: TokenBucket\Compat\RateLimiter::$initNum must be of type int|float
TypeError: TokenBucket\Compat\RateLimiter::$expire must be of type int|float (2 times)
ValueError: TokenBucket\Compat\RateLimiter::$expire must be greater than or equal to 0
ValueError: TokenBucket\Compat\RateLimiter::$expire must be greater than 0
unset expire: TypeError: TokenBucket\Compat\RateLimiter::$expire must be of type int|float
TypeError: TokenBucket\Compat\RateLimiter::$redis must be one of the extension's own storages, a client of type Redis, or null (4 times)
unset redis: nothing thrown
DomainException: no name

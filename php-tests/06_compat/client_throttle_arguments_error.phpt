--TEST--
ClientThrottle reports the argument that is invalid, and requires key() to return a string
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Compat\ClientThrottle;

class Forgetful extends ClientThrottle
{
    public function __construct() {}
}
class Keyed extends ClientThrottle
{
    public $key;
    protected function key($id)
    {
        return $this->key instanceof Throwable ? throw $this->key : $this->key;
    }
}
$memory = new TokenBucketStorageMemory;
echo thrown(fn () => new ClientThrottle), "\n";
echo thrown(fn () => new ClientThrottle('localhost')), "\n";
$throttle = new ClientThrottle($memory);
foreach ([[], ['a'], ['a', 1, 1, 1], ['a', -1], ['a', NAN], ['a', INF], ['a', 'x'], ['a', 1, 0], ['a', 1, -1], ['a', 1, 1e10], [[], 1]] as $arguments) {
    echo thrown(fn () => $throttle->check(...$arguments)), "\n";
}
echo thrown(fn () => (new Forgetful)->check('a', 1)), "\n";
$keyed = new Keyed($memory);
foreach ([[], new stdClass, new LogicException('no')] as $keyed->key) {
    echo thrown(fn () => $keyed->check('a', 1)), "\n";
}
foreach ([null, 5, "\0"] as $keyed->key) {
    check(!$keyed->check('a', 1) && $keyed->check('a', 1), 'any string is a key');
}
?>
--EXPECT--
ArgumentCountError: TokenBucket\Compat\ClientThrottle::__construct() expects exactly 1 argument, 0 given
TypeError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must be one of the extension's own storages, or a client of type Memcached, Memcache or Redis
ArgumentCountError: TokenBucket\Compat\ClientThrottle::check() expects at least 2 arguments, 0 given
ArgumentCountError: TokenBucket\Compat\ClientThrottle::check() expects at least 2 arguments, 1 given
ArgumentCountError: TokenBucket\Compat\ClientThrottle::check() expects at most 3 arguments, 4 given
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #2 ($limit) must be greater than or equal to 0
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #2 ($limit) must be finite
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #2 ($limit) must be finite
TypeError: TokenBucket\Compat\ClientThrottle::check(): Argument #2 ($limit) must be of type int|float, string given
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #3 ($window) must be greater than 0
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #3 ($window) must be greater than or equal to 0
ValueError: TokenBucket\Compat\ClientThrottle::check(): Argument #3 ($window) must be less than or equal to 1.0E+9
TypeError: TokenBucket\Compat\ClientThrottle::key(): Argument #1 ($id) must be of type string, array given
Error: The TokenBucket\Compat\ClientThrottle object has not been correctly initialized by calling parent::__construct() in its constructor
TypeError: TokenBucket\Compat\ClientThrottle::key() must return a string
TypeError: TokenBucket\Compat\ClientThrottle::key() must return a string
LogicException: no

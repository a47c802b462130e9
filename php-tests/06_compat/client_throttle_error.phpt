--TEST--
ClientThrottle: bad arguments, foreign records, failing stores
--EXTENSIONS--
memcache
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../servers.inc.php';
require __DIR__ . '/memcached_plain.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\OnFailure;

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

$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
$memcache = memcache($server->port);
set_error_handler(function (int $kind, string $message) {
    if ($kind === E_DEPRECATED) {
        return true;
    }
    $kind = [E_WARNING => 'E_WARNING', E_USER_WARNING => 'E_USER_WARNING'][$kind] ?? $kind;
    echo "$kind: ", preg_replace('/at \S+|unix:\S+/', '…', $message), "\n";
    return true;
});
$make = fn (string $kind, OnFailure $policy) => $kind === 'memcached'
    ? new TokenBucketStorageMemcached("127.0.0.1:$server->port", onFailure: $policy, timeout: 1.0)
    : new TokenBucketStorageRedis("unix://$redis->socket", onFailure: $policy, timeout: 1.0);

// Records that are no bucket of that very shape: the policy, and the record stays.
class Spy
{
    public function __wakeup()
    {
        echo "unserialised\n";
    }
}
$foreign = [
    'text' => fn ($key) => $memcache->set($key, 'foreign'),
    'object' => fn ($key) => $memcache->set($key, new Spy),
    'other array' => fn ($key) => $memcache->set($key, ['tokens' => 1000, 'filled' => 1.0, 'more' => 1]),
    'compressed' => fn ($key) => $server->command("set $key 3 0 4\r\nzlib", 'STORED'),
];
foreach ($foreign as $what => $put) {
    foreach (OnFailure::cases() as $policy) {
        $id = uniqid();
        $put("throttle_$id");
        $before = $server->command("mg throttle_$id v f t\r\nmn", 'MN');
        $throttle = new ClientThrottle($make('memcached', $policy));
        $answers = [];
        for ($i = 0; $i < 3; $i++) {
            $answers[] = thrown(function () use ($throttle, $id) {
                throw new Exception(var_export(@$throttle->check($id, 2), true));
            });
        }
        $answers = preg_replace('/^Exception: |at \S+/', '', $answers);
        echo "$what, $policy->name: ", implode(' ', array_unique(array_slice($answers, 0, 2))), ' ', $answers[2], "\n";
        check($server->command("mg throttle_$id v f t\r\nmn", 'MN') === $before, 'the record stays');
        check($memcache->get("throttle_{$id}_lock") === false, 'no lock is left');
    }
}

$server->kill();
$redis->kill();
foreach (['memcached', 'redis'] as $kind) {
    foreach (OnFailure::cases() as $policy) {
        $throttle = new ClientThrottle($make($kind, $policy));
        for ($i = 0; $i < 2; $i++) {
            echo "$kind, $policy->name: ", preg_replace('/(StorageException:|^Exception:) (false|true)?.*/', '$1 $2', thrown(function () use ($throttle) {
                throw new Exception(var_export($throttle->check('some client', 1), true));
            })), "\n";
        }
    }
}
// The handler may throw.
set_error_handler(fn ($kind, $message) => throw new ErrorException($message));
echo thrown(fn () => (new ClientThrottle($make('memcached', OnFailure::Allow)))->check('a', 1)), "\n";
?>
--EXPECT--
ArgumentCountError: TokenBucket\Compat\ClientThrottle::__construct() expects exactly 1 argument, 0 given
TypeError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, string given
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
E_WARNING: TokenBucket\Compat\ClientThrottle::check(): memcached … the key of this bucket holds something else; buckets of this host decide
text, Local: false true
text, Allow: false false
text, Deny: true true
text, Throw: TokenBucket\StorageException: memcached  the key of this bucket holds something else TokenBucket\StorageException: memcached  the key of this bucket holds something else
object, Local: false true
object, Allow: false false
object, Deny: true true
object, Throw: TokenBucket\StorageException: memcached  the key of this bucket holds something else TokenBucket\StorageException: memcached  the key of this bucket holds something else
other array, Local: false true
other array, Allow: false false
other array, Deny: true true
other array, Throw: TokenBucket\StorageException: memcached  the key of this bucket holds something else TokenBucket\StorageException: memcached  the key of this bucket holds something else
compressed, Local: false true
compressed, Allow: false false
compressed, Deny: true true
compressed, Throw: TokenBucket\StorageException: memcached  the key of this bucket holds something else TokenBucket\StorageException: memcached  the key of this bucket holds something else
memcached, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Deny: Exception: true
memcached, Deny: Exception: true
memcached, Throw: TokenBucket\StorageException: 
memcached, Throw: TokenBucket\StorageException: 
redis, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Deny: Exception: true
redis, Deny: Exception: true
redis, Throw: TokenBucket\StorageException: 
redis, Throw: TokenBucket\StorageException: 
ErrorException: Unable to obtain lock ob throttle_a

--TEST--
MinuteWindow: bad arguments, foreign records, failing stores
--EXTENSIONS--
memcache
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../servers.inc.php';
require __DIR__ . '/memcached_models.inc.php';
require __DIR__ . '/memcached_plain.inc.php';

use TokenBucket\Compat\MinuteWindow;
use TokenBucket\OnFailure;

class Userland implements TokenBucketStorage
{
    public function prepare() {}
    public function bootstrap($identifier, $microtime) {}
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
}
class Forgetful extends MinuteWindow
{
    public function __construct() {}
}
class Meddling
{
    public function __toString(): string
    {
        throw new LogicException('no');
    }
}
$memory = new TokenBucketStorageMemory;
echo thrown(fn () => new MinuteWindow), "\n";
echo thrown(fn () => new MinuteWindow(1, '1')), "\n";
echo thrown(fn () => new MinuteWindow(new stdClass, '1')), "\n";
echo thrown(fn () => new MinuteWindow(new Userland, '1')), "\n";
echo thrown(fn () => new MinuteWindow($memory, [])), "\n";
echo thrown(fn () => new MinuteWindow($memory, new Meddling)), "\n";
$window = new MinuteWindow($memory, '1');
foreach ([[], [1], [1, 2, 3], [1, 0], [1, -1], [1, 1.5], [1, 40321], [1, NAN], [1, 'x'], [NAN, 1], [[], 1], [null, 1]] as $arguments) {
    echo thrown(fn () => $window->limitRequestsInMinutes(...$arguments)), "\n";
}
echo thrown(fn () => (new Forgetful)->limitRequestsInMinutes(1, 1)), "\n";
echo thrown(fn () => $window->limitRequestsInMinutes(-5, 1)), "\n";
echo thrown(fn () => serialize($window)), "\n";
// A cycle through a storage's property is none that leaks.
(function () use ($memory) {
    $window = new class($memory, '1') extends MinuteWindow {
        public $self;
    };
    $window->self = $window;
})();
gc_collect_cycles();

// A record that is no counter: the policy, and the record stays.
$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
set_error_handler(function (int $kind, string $message) {
    if ($kind === E_DEPRECATED || !(error_reporting() & $kind)) {
        return true;
    }
    echo preg_replace('/at \S+|unix:\S+/', '…', $message), "\n";
    return true;
});
$make = fn (string $kind, OnFailure $policy) => $kind === 'memcached'
    ? new TokenBucketStorageMemcached("127.0.0.1:$server->port", onFailure: $policy, timeout: 1.0)
    : new TokenBucketStorageRedis("unix://$redis->socket", onFailure: $policy, timeout: 1.0);
foreach (['memcached', 'redis'] as $kind) {
    foreach ([0, 1] as $ago) {
        foreach (OnFailure::cases() as $policy) {
            $ip = uniqid();
            $key = "rate$ip" . date('dHi', time() - 60 * $ago);
            memcache($server->port)->set($key, 'foreign', 0, 100);
            $redis->command('SET', "tokenbucket:$key", 'foreign');
            $window = new MinuteWindow($make($kind, $policy), $ip);
            $answers = [];
            for ($i = 0; $i < 3; $i++) {
                $answers[] = thrown(function () use ($window) {
                    $window->limitRequestsInMinutes(2, 5);
                });
            }
            echo "$kind $ago $policy->name: ", preg_replace('/at \S+|unix:\S+/', '…', implode(' | ', array_unique($answers))), "\n";
            check(memcache($server->port)->get($key) === 'foreign', 'the record stays');
            check($redis->command('GET', "tokenbucket:$key") === 'foreign', 'the record stays');
        }
    }
}
// No store at all.
$server->kill();
$redis->kill();
foreach (['memcached', 'redis'] as $kind) {
    foreach (OnFailure::cases() as $policy) {
        $window = new MinuteWindow(@$make($kind, $policy), uniqid());
        $passed = 0;
        for ($i = 0; $i < 8; $i++) {
            try {
                $passed += (int) @allows($window, 5, 5);
            } catch (TokenBucket\StorageException) {
                $passed = 'thrown';
                break;
            }
        }
        echo "$kind $policy->name: $passed\n";
    }
}
?>
--EXPECT--
ArgumentCountError: TokenBucket\Compat\MinuteWindow::__construct() expects at least 2 arguments, 0 given
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, int given
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must be of type TokenBucketStorage, stdClass given
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must be one of the extension's own storages
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #2 ($ip) must be of type string, array given
LogicException: no
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 0 given
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 1 given
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 3 given
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be of type int|float, string given
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must not be NAN
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must be of type int|float, array given
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must be of type int|float, null given
Error: The TokenBucket\Compat\MinuteWindow object has not been correctly initialized by calling parent::__construct() in its constructor
TokenBucket\Compat\RateExceededException: 
Exception: Serialization of 'TokenBucket\Compat\MinuteWindow' is not allowed
TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): memcached … the key of this bucket holds something else; buckets of this host decide
memcached 0 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
memcached 0 Allow: nothing thrown
memcached 0 Deny: TokenBucket\Compat\RateExceededException: 
memcached 0 Throw: TokenBucket\StorageException: memcached … the key of this bucket holds something else
memcached 1 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
memcached 1 Allow: nothing thrown
memcached 1 Deny: TokenBucket\Compat\RateExceededException: 
memcached 1 Throw: TokenBucket\StorageException: memcached … the key of this bucket holds something else
TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): … the key of this bucket holds something else; buckets of this host decide
redis 0 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
redis 0 Allow: nothing thrown
redis 0 Deny: TokenBucket\Compat\RateExceededException: 
redis 0 Throw: TokenBucket\StorageException: … the key of this bucket holds something else
redis 1 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
redis 1 Allow: nothing thrown
redis 1 Deny: TokenBucket\Compat\RateExceededException: 
redis 1 Throw: TokenBucket\StorageException: … the key of this bucket holds something else
memcached Local: 5
memcached Allow: 8
memcached Deny: 0
memcached Throw: thrown
redis Local: 5
redis Allow: 8
redis Deny: 0
redis Throw: thrown

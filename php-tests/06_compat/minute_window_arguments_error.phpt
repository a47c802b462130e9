--TEST--
MinuteWindow reports the argument that is invalid
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
use TokenBucket\Compat\MinuteWindow;

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
echo thrown(fn () => new MinuteWindow(new GrantingStorage, '1')), "\n";
echo thrown(fn () => new MinuteWindow($memory, [])), "\n";
echo thrown(fn () => new MinuteWindow($memory, new Meddling)), "\n";
$window = new MinuteWindow($memory, '1');
foreach ([[], [1], [1, 2, 3], [1, 0], [1, -1], [1, 1.5], [1, 40321], [1, NAN], [1, 'x'], [NAN, 1], [[], 1], [null, 1]] as $arguments) {
    echo thrown(fn () => $window->limitRequestsInMinutes(...$arguments)), "\n";
}
echo thrown(fn () => (new Forgetful)->limitRequestsInMinutes(1, 1)), "\n";
echo thrown(fn () => $window->limitRequestsInMinutes(-5, 1)), "\n";
echo thrown(fn () => serialize($window)), "\n";
// The garbage collector frees a cycle through a property.
(function () use ($memory) {
    $window = new class($memory, '1') extends MinuteWindow {
        public $self;
    };
    $window->self = $window;
})();
gc_collect_cycles();
?>
--EXPECT--
ArgumentCountError: TokenBucket\Compat\MinuteWindow::__construct() expects at least 2 arguments, 0 given
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must be one of the extension's own storages, or a client of type Memcached, Memcache or Redis (3 times)
TypeError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #2 ($ip) must be of type string, array given
LogicException: no
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 0 given
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 1 given
ArgumentCountError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes() expects exactly 2 arguments, 3 given
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be a whole number from 1 to 40320 (5 times)
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #2 ($minutes) must be of type int|float, string given
ValueError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must not be NAN
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must be of type int|float, array given
TypeError: TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): Argument #1 ($allowedRequests) must be of type int|float, null given
Error: The TokenBucket\Compat\MinuteWindow object has not been correctly initialized by calling parent::__construct() in its constructor
TokenBucket\Compat\RateExceededException: 
Exception: Serialization of 'TokenBucket\Compat\MinuteWindow' is not allowed

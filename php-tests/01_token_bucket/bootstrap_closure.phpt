--TEST--
The closure passed to a userland storage is an ordinary Closure, and misuse causes no crash
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Keeper extends GrantingStorage
{
    public $closure;
    public $bootstrapped = 0;

    public function bootstrap($identifier, $microtime)
    {
        $this->bootstrapped++;
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->closure = $bootstrap_closure;
        return true;
    }
}
$storage = new Keeper;
$bucket = new TokenBucket($storage, 'x', 10, 1);
$bucket->consume();
$closure = $storage->closure;

// A debug build of PHP reports a bug if an internal function ignores arguments.
print_values($closure(), (clone $closure)(), PHP_DEBUG ? $closure() : $closure(1, 2), call_user_func($closure), (new ReflectionFunction($closure))->invoke());
print_values($storage->bootstrapped, (new ReflectionFunction($closure))->getNumberOfParameters());
ob_start();
var_dump($closure);
print_r($closure);
echo new ReflectionFunction($closure);
check(strlen(ob_get_clean()) > 0, 'it can be shown');
echo thrown(fn() => serialize($closure)), "\n";

echo "-- bound to other objects and scopes without a crash --\n";
$other = (object) ['bucket' => $bucket, 'token_count' => 'not a number'];
foreach ([null, new stdClass, new ArrayObject, $bucket, $other, $storage] as $this_) {
    foreach (['static', 'stdClass', 'TokenBucket'] as $scope) {
        thrown(function () use ($closure, $this_, $scope) {
            $bound = @Closure::bind($closure, $this_, $scope);
            return $bound && $bound();
        });
    }
    if ($this_) {
        thrown(fn() => @$closure->call($this_));
    }
}
$before = $storage->bootstrapped;
print_values($closure(), $storage->bootstrapped - $before);
?>
--EXPECT--
true true true true true
5 0
Exception: Serialization of 'Closure' is not allowed
-- bound to other objects and scopes without a crash --
true 1

--TEST--
consume() of a native storage calls the closure only if the bucket has no record
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

foreach (['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    // The cost of a token is a thousand seconds.
    $consume = fn($id, $tokens, $closure) => $storage->consume($id, $tokens * 1000.0, 10000.0, $closure);
    $calls = 0;
    $true = function () use (&$calls) {
        $calls++;
        return true;
    };

    var_dump($storage->prepare());
    echo "a missing bucket: calls the closure and charges the tokens\n";
    var_dump($consume('x', 3, $true), $calls, $left('x'));
    echo "an existing bucket: does not call the closure\n";
    var_dump($consume('x', 3, $true), $consume('x', 5, $true), $calls, $left('x'));

    echo "a falsy result: denies and writes nothing\n";
    foreach ([false, 0, null, '', '0', []] as $falsy) {
        check($consume('falsy', 1, fn() => $falsy) === false, json_encode($falsy));
        check($left('falsy') === 10.0, 'nothing written');
    }
    check($consume('falsy', 1, function () {
    }) === false, 'no return value');
    foreach ([true, 1, 'yes', [0], new stdClass] as $i => $truthy) {
        check($consume("truthy $i", 1, fn() => $truthy) === true, json_encode($truthy));
    }
    echo "a falsy result after a proposal: denies and writes nothing\n";
    var_dump($consume('falsy', 1, function () use ($storage) {
        $storage->bootstrap('falsy', microtime(true) - 2000);
        return false;
    }), $left('falsy'));

    echo "an exception reaches the caller and writes nothing\n";
    echo thrown(fn() => $consume('throws', 1, function () use ($storage) {
        $storage->bootstrap('throws', microtime(true) - 2000);
        throw new DomainException('no');
    })), "\n";
    var_dump($left('throws'));

    echo "bootstrap() inside the closure proposes the first state\n";
    var_dump($consume('half', 1, function () use ($storage) {
        $storage->bootstrap('half', microtime(true) - 4500);
        return true;
    }), $left('half'));

    echo "bootstrap() of another identifier creates that bucket, and the called bucket starts full\n";
    var_dump($consume('this', 1, function () use ($storage) {
        $storage->bootstrap('that', microtime(true) - 4500);
        return true;
    }), $left('this'), $left('that'));

    echo "any callable\n";
    var_dump($consume('callable', 1, 'phpversion'), $left('callable'));
    class_exists('Invokable') || eval('class Invokable { public function __invoke() { return true; } public static function yes() { return true; } }');
    var_dump($consume('callable 2', 1, new Invokable), $consume('callable 3', 1, ['Invokable', 'yes']), $consume('callable 4', 1, 'Invokable::yes'));
}
?>
--EXPECT--
-- TokenBucketStorageMemory --
NULL
a missing bucket: calls the closure and charges the tokens
bool(true)
int(1)
float(7)
an existing bucket: does not call the closure
bool(true)
bool(false)
int(1)
float(4)
a falsy result: denies and writes nothing
a falsy result after a proposal: denies and writes nothing
bool(false)
float(10)
an exception reaches the caller and writes nothing
DomainException: no
float(10)
bootstrap() inside the closure proposes the first state
bool(true)
float(4)
bootstrap() of another identifier creates that bucket, and the called bucket starts full
bool(true)
float(9)
float(4)
any callable
bool(true)
float(9)
bool(true)
bool(true)
bool(true)
-- TokenBucketStorageSharedMemory --
NULL
a missing bucket: calls the closure and charges the tokens
bool(true)
int(1)
float(7)
an existing bucket: does not call the closure
bool(true)
bool(false)
int(1)
float(4)
a falsy result: denies and writes nothing
a falsy result after a proposal: denies and writes nothing
bool(false)
float(10)
an exception reaches the caller and writes nothing
DomainException: no
float(10)
bootstrap() inside the closure proposes the first state
bool(true)
float(4)
bootstrap() of another identifier creates that bucket, and the called bucket starts full
bool(true)
float(9)
float(4)
any callable
bool(true)
float(9)
bool(true)
bool(true)
bool(true)

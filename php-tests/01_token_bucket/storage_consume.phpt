--TEST--
consume() of a native storage calls the closure only if there is no bucket
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';

foreach (['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    // A token costs a thousand seconds.
    $consume = fn($id, $tokens, $closure) => $storage->consume($id, $tokens * 1000.0, 10000.0, $closure);
    $calls = 0;
    $true = function () use (&$calls) {
        $calls++;
        return true;
    };

    var_dump($storage->prepare());
    echo "absent: called, and the tokens are charged\n";
    var_dump($consume('x', 3, $true), $calls, $left('x'));
    echo "present: not called\n";
    var_dump($consume('x', 3, $true), $consume('x', 5, $true), $calls, $left('x'));

    echo "falsy: denied, nothing written\n";
    foreach ([false, 0, null, '', '0', []] as $falsy) {
        check($consume('falsy', 1, fn() => $falsy) === false, json_encode($falsy));
        check($left('falsy') === 10.0, 'nothing written');
    }
    check($consume('falsy', 1, function () {
    }) === false, 'no return value');
    foreach ([true, 1, 'yes', [0], new stdClass] as $i => $truthy) {
        check($consume("truthy $i", 1, fn() => $truthy) === true, json_encode($truthy));
    }
    echo "falsy after a proposal: nothing written either\n";
    var_dump($consume('falsy', 1, function () use ($storage) {
        $storage->bootstrap('falsy', microtime(true) - 2000);
        return false;
    }), $left('falsy'));

    echo "it throws: that arrives, nothing written\n";
    echo thrown(fn() => $consume('throws', 1, function () use ($storage) {
        $storage->bootstrap('throws', microtime(true) - 2000);
        throw new DomainException('no');
    })), "\n";
    var_dump($left('throws'));

    echo "bootstrap inside the closure proposes the first state\n";
    var_dump($consume('half', 1, function () use ($storage) {
        $storage->bootstrap('half', microtime(true) - 4500);
        return true;
    }), $left('half'));

    echo "of another identifier: that one is made, this one starts full\n";
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
absent: called, and the tokens are charged
bool(true)
int(1)
float(7)
present: not called
bool(true)
bool(false)
int(1)
float(4)
falsy: denied, nothing written
falsy after a proposal: nothing written either
bool(false)
float(10)
it throws: that arrives, nothing written
DomainException: no
float(10)
bootstrap inside the closure proposes the first state
bool(true)
float(4)
of another identifier: that one is made, this one starts full
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
absent: called, and the tokens are charged
bool(true)
int(1)
float(7)
present: not called
bool(true)
bool(false)
int(1)
float(4)
falsy: denied, nothing written
falsy after a proposal: nothing written either
bool(false)
float(10)
it throws: that arrives, nothing written
DomainException: no
float(10)
bootstrap inside the closure proposes the first state
bool(true)
float(4)
of another identifier: that one is made, this one starts full
bool(true)
float(9)
float(4)
any callable
bool(true)
float(9)
bool(true)
bool(true)
bool(true)
